"""What an audit can find, one kind a file."""
