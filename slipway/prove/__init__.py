"""`slipway prove`: tries on a real account what no rehearsal can prove, within a ceiling of cost and time."""
