package mutants

// healthMutants are in the verdicts of health checks.
var healthMutants = []Mutant{
	{
		ID: "health/missing-outside-budget", File: "plan.go", Func: "round.budget",
		From: "p.Expected + p.Missing",
		To:   "p.Expected",
		Note: "maxUnhealthy is a share of a fleet without the remedied machines that have no replacement yet",
	},
	{
		ID: "health/missing-is-well", File: "plan.go", Func: "round.unwell",
		From: "len(r.ill) + r.plan.Missing",
		To:   "len(r.ill)",
		Note: "remedied machines that have no replacement yet do not count as unhealthy",
	},
	{
		ID: "health/budget-ignored", File: "plan.go", Func: "round.may",
		From: "case !r.plan.Allowed:",
		To:   "case false:",
		Note: "maxUnhealthy limits nothing",
	},
	{
		ID: "health/blind-remedies", File: "plan.go", Func: "round.may",
		From:      `case r.plan.Blind != "":`,
		To:        "case false:",
		Statement: 6, Note: "machines are remedied while their nodes cannot be seen",
	},
	{
		ID: "health/silence-unnoticed", File: "breaker.go", Func: "Connectivity.blind",
		From:      "s.Nodes == 0 && linked > 1",
		To:        "false",
		Statement: 6, Note: "an empty list of nodes counts as a fleet without nodes",
		Like: "no nodes",
	},
	{
		ID: "health/storm-above-share", File: "storm.go", Func: "Breaker.worst",
		From: "100*s.Sick >= b.StormShare*s.Total",
		To:   "100*s.Sick > b.StormShare*s.Total",
		Note: "a number of machines that equals the share for a storm is no storm",
	},
	{
		ID: "health/condition-before-machine", File: "evaluate.go", Func: "input.onset",
		From: "latest(have.Since, q.t.Created)",
		To:   "have.Since",
		Note: "a new machine whose node has the name of an earlier, unhealthy node is replaced at once",
	},
	{
		ID: "health/unknown-announces", File: "evaluate.go", Func: "input.sickness",
		From: "if have.Status != unknown {",
		To:   "if true {",
		Note: "a condition of unknown status counts as announced; statement 6 could break if a check watches other conditions than Ready for silence, which no world has",
	},
	{
		ID: "health/control-plane-remedied", File: "plan.go", Func: "round.may",
		From: "check.SparesControlPlane && t.Node",
		To:   "false && t.Node",
		Note: "machines of the control plane are remedied",
	},
	{
		ID: "health/chain-of-others", File: "memory.go", Func: "Memory.chain",
		From: "p.Owner == t.Owner.UID && ",
		To:   "",
		Note: "failures of another set hold a machine back",
	},
	{
		ID: "health/one-more-per-hour", File: "breaker.go", Func: "round.holds",
		From: "r.spent >= r.rate",
		To:   "r.spent > r.rate",
		Note: "one machine more than the rate is remedied",
	},
	{
		ID: "health/nobody-replaces", File: "plan.go", Func: "applies",
		From: `case c.Remediation == Delete && t.Owner.UID == "":`,
		To:   "case false:",
		Note: "a machine is deleted that no controller replaces",
	},
	{
		ID: "health/backoff-flat", File: "breaker.go", Func: "Breaker.backoff",
		From: "math.Pow(2, float64(failed-1))",
		To:   "math.Pow(1, float64(failed-1))",
		Note: "the pause after failed replacements does not grow",
	},
	{
		ID: "health/verdict-outlives-its-time", File: "evaluate.go", Func: "Judged.Stands",
		From: " && !j.Due(now)",
		To:   "",
		Note: "a machine whose state has not changed is not judged again after its timeout",
	},
	{
		ID: "health/illness-begins-anew", File: "evaluate.go", Func: "Judge",
		From: "if before != nil && before.Verdict.State == j.Verdict.State {",
		To:   "if false {",
		Note: "each look at an unhealthy machine restarts its illness, so that the wait between remedies never ends",
	},
}
