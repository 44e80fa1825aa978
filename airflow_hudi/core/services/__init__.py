# SPDX-License-Identifier: Apache-2.0
"""Table services as an orchestrator sees them: policy and timeline in, a decision with reasons out.

=======================  =========================================================================
``kinds``                compaction, log compaction, clustering: what they are called, what they do
``policies``, ``works``  what a user asked for
``view``                 everything a decision looks at, loaded at one moment
``triggers``             whether a new plan is due
``choice``               which plan a job executes, or that it makes one, or that nothing is to do
``guard``                RFC-79: may this plan be executed now, by us?
``rollback``             RFC-79: which pending instants are rolled back, which are held, and why
``cleaning``             which files a clean plan must leave alone
=======================  =========================================================================
"""
