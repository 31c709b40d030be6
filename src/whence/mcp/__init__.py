"""The protocol room: servers of the Model Context Protocol, on the official SDK.

    transport   how to reach a server: `Pipes` (a program) or `Web` (an address)
    connection  one live session, in a task of its own
    lines       a line of a program as messages
    server      one server, whoever names it: connected when needed, and anew when it died
    faults      what goes wrong there, as this program says it

The SDK takes a second to import; only `connection` and `transport` do, and only when they connect.
"""
