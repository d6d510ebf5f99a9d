"""The live monitor: what device and link do, and the controls that change it while text streams."""
