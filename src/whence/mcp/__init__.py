"""The protocol room: servers of the Model Context Protocol, on the official SDK.

    transport   how to reach a server: `Pipes` (a program) or `Web` (an address)
    connection  one live session, in a task of its own
    lines       a line of a program as messages
    server      one server, whoever names it: connected when needed, and anew when it died
    faults      what goes wrong there, as this program says it

and this program as a server:

    offer       what a server needs to know of what it serves
    publish     the SDK's server of an offer
    stdio       its messages on a pair of pipes, `standard` claiming those of the process
    endpoint    its messages on a port, `brief` choosing their form

The SDK takes a second to import; that happens when a server is connected to, or served.
"""
