package mutants

// replicasMutants are in the arithmetic of sets.
var replicasMutants = []Mutant{
	{
		ID: "replicas/guard-forgets-leaving", File: "guard.go", Func: "Guard.refuse",
		From: "Going: leaving + len(out)",
		To:   "Going: len(out)",
		Note: "machines in deletion do not count for the limit on mass deletion",
	},
	{
		ID: "replicas/guard-alone", File: "guard.go", Func: "Guard.refuse",
		From: ".Add(g.Elsewhere)",
		To:   "",
		Note: "deletions in other sets of the deployment do not count for the limit",
	},
	{
		ID: "replicas/available-at-once", File: "facts.go", Func: "Member.availableIn",
		From:      "minReady <= 0",
		To:        "true",
		Statement: 3, Note: "a machine is available before minReadySeconds are over",
	},
	{
		ID: "replicas/kept-replaced", File: "decide.go", Func: "deletionReason",
		From: "m.Failed && !m.Preservation.Spares(now)",
		To:   "m.Failed",
		Note: "failed machines that a user preserves are replaced",
	},
	{
		ID: "replicas/shielded-goes", File: "decide.go", Func: "victims",
		From:      "return !m.Shielded",
		To:        "return true",
		Statement: 3, Note: "a machine that is being handed over is deleted",
	},
	{
		ID: "replicas/leaving-counts", File: "decide.go", Func: "toSize",
		From:      "only(members, Member.Counts)",
		To:        "members",
		Statement: 3, Note: "machines in deletion count as replicas",
	},
	{
		ID: "replicas/one-too-many", File: "decide.go", Func: "victims",
		From:      "-len(going)-set.Replicas)",
		To:        "-len(going)-set.Replicas+1)",
		Statement: 3, Note: "one machine more than the surplus is deleted",
	},
	{
		ID: "replicas/failed-and-surplus", File: "decide.go", Func: "victims",
		From:      "len(open)-len(going)-set.Replicas",
		To:        "len(open)-set.Replicas",
		Statement: 3, Note: "machines that are deleted because they failed do not reduce the surplus",
	},
	{
		ID: "replicas/doomed-forgotten", File: "decide.go", Func: "pendingFirst",
		From:      "if len(doomed) == 0 {",
		To:        "if true {",
		Statement: 5, Note: "a deletion without an answer is not repeated before other deletions",
		Like: "late deletions",
	},
	{
		ID: "replicas/doomed-at-any-cost", File: "decide.go", Func: "needed",
		From: "if !costs {",
		To:   "if true {",
		Note: "a deletion without an answer is repeated although the set now needs the machine and another machine is useless",
	},
	{
		ID: "replicas/growth-forced", File: "decide.go", Func: "toSize",
		From: `set.NoGrowth != ""`,
		To:   "false",
		Note: "a frozen set grows",
	},
	{
		ID: "replicas/held-keeps-failed", File: "decide.go", Func: "hold",
		From: "if set.Frozen {",
		To:   "if true {",
		Note: "a set that may not grow and has too few machines keeps the failed ones, and so the storm for whose end it waits",
	},
	{
		ID: "replicas/frozen-gives-up", File: "decide.go", Func: "hold",
		From: "if set.Frozen {",
		To:   "if false {",
		Note: "a frozen set deletes failed machines although it lacks machines",
	},
	{
		ID: "replicas/old-mark-counts", File: "decide.go", Func: "marked",
		From: " && !m.Marked.After(set.Scaled)",
		To:   "",
		Note: "a mark that an autoscaler set after the set was scaled is used",
	},
	{
		ID: "replicas/adopts-leaving", File: "claim.go", Func: "Claim",
		From: "t.Matches && !t.MachineDeleting && !t.SetDeleting",
		To:   "t.Matches && !t.SetDeleting",
		Note: "a machine in deletion is adopted",
	},
	{
		ID: "replicas/asked-last", File: "rank.go", Func: "uselessness",
		From: "return 2",
		To:   "return 0",
		Note: "a machine that is marked for deletion is not chosen first; statement 3 holds, because no world marks a machine that does not work in the middle of a rollout",
	},
	{
		ID: "replicas/fast-start", File: "slowstart.go", Func: "SlowStart",
		From: "size *= 2",
		To:   "size *= 4",
		Note: "the batches of creations grow too fast",
	},
}
