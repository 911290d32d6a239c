"""Programs that answer a question: detection, command line, events, failures and retries."""
