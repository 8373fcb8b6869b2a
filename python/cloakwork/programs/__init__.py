"""Programs: recording, inputs and outputs, running, reports, saving and loading."""
