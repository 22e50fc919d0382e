"""What leaves the tool: the table of published figures and, later, reports and gate output."""
