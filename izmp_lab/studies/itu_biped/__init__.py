"""Walks of the ITU Biped (Şanlıtürk and Kocabaş): runs, one file per figure, page."""
