"""Create manifests from GraphQL schemas: a tool for each query, and for each mutation that is selected."""
