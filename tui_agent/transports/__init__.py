"""What stands under the clients: the network, a local repository, the survey, and faults around any of them."""
