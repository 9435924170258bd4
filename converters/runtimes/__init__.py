"""What each runtime takes, which resize it computes, and how it is run: every fact about a runtime, once."""
