"""From the kinematic state to the contact wrench: MR-AD and IR-MD."""
