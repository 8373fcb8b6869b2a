"""Devices: the facts of this machine."""
