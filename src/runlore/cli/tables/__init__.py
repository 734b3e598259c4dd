"""What people see of each answer, as tables."""
