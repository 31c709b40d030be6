"""Admit: a call, a toolbox and a policy in; an admitted call or a fault out. Pure."""
