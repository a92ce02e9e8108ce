"""What runs inside Lambda processes, which find it on their path; the emulator takes its own guard from here."""
