package mutants

// controlplaneMutants are in the decisions about machines of a control plane, and in failure domains.
var controlplaneMutants = []Mutant{
	{
		ID: "controlplane/deleted-too-soon", File: "decide.go", Func: "decider.decide",
		From:  "case len(current) > 0 && len(outdated) > 0:",
		To:    "case len(current)+len(pending) > 0 && len(outdated) > 0:",
		Finds: "TestSteps", Note: "an old machine is deleted before its replacement is ready",
	},
	{
		ID: "controlplane/pending-ignored", File: "decide.go", Func: "decider.decide",
		From:  "case len(pending) > 0:",
		To:    "case len(pending) > 1:",
		Finds: "TestSteps", Note: "an index gets a second replacement",
	},
	{
		ID: "controlplane/unlimited-surge", File: "decide.go", Func: "decider.create",
		From:  "d.surge >= maxSurge",
		To:    "d.surge > maxSurge",
		Finds: "TestSteps", Note: "two indexes are replaced at the same time",
	},
	{
		ID: "controlplane/surge-not-counted", File: "decide.go", Func: "decider.create",
		From:  "d.surge++",
		To:    "d.surge += 0",
		Finds: "TestSteps", Note: "one pass replaces all indexes",
	},
	{
		ID: "controlplane/two-removals", File: "decide.go", Func: "decider.delete",
		From:  "d.deletes || d.removing(index)",
		To:    "d.deletes",
		Finds: "TestSteps", Note: "a machine is deleted while that of another index is being removed",
	},
	{
		ID: "controlplane/missing-last", File: "decide.go", Func: "decider.order",
		From:  "min(1, len(d.indexes[a])), min(1, len(d.indexes[b]))",
		To:    "0, 0",
		Finds: "TestSteps", Note: "replacements use the place of a missing machine",
	},
	{
		ID: "controlplane/none-ready-deleted", File: "decide.go", Func: "decider.supersede",
		From:  "ready == 0",
		To:    "ready < 0",
		Finds: "TestSteps", Note: "a machine of an index without a ready machine is deleted",
	},
	{
		ID: "controlplane/degraded-ignored", File: "decide.go", Func: "Decide",
		From:  "case p.Status.degraded():",
		To:    "case p.Status.degraded() && p.Status.Ready == 0:",
		Finds: "TestSteps", Note: "machines are replaced although the set is degraded",
	},
	{
		ID: "controlplane/crowded-domain", File: "domains.go", Func: "spread.keep",
		From:  "s.used[domain] < s.most",
		To:    "s.used[domain] <= s.most",
		Finds: "TestSpread", Note: "two indexes stay in one failure domain although another is free",
	},
	{
		ID: "controlplane/older-counts", File: "domains.go", Func: "present",
		From:  "cmp.Compare(m.Name, last.Name)) > 0",
		To:    "cmp.Compare(m.Name, last.Name)) < 0",
		Finds: "TestSpread", Note: "the failure domain of an old machine counts, not that of its replacement",
	},
	{
		ID: "controlplane/reboot-is-a-failure", File: "facts.go", Func: "Ready",
		From:  "return left > 0, max(0, left)",
		To:    "return left < 0, max(0, left)",
		Finds: "TestReady", Note: "a machine that reboots is unavailable",
	},
	{
		ID: "failuredomain/empty-differs", File: "object.go", Func: "empty",
		From:  "return len(v) == 0\n\tcase []any:",
		To:    "return len(v) < 0\n\tcase []any:",
		Finds: "TestDiff", Note: "a machine is outdated because of an empty object",
	},
	{
		ID: "failuredomain/image-counts", File: "aws.go", Func: "aws.compared",
		From:  "s.AMI = machinev1beta1.AWSResourceReference{}",
		To:    "_ = s.AMI",
		Finds: "TestDiff", Note: "a new boot image replaces the control plane",
	},
	{
		ID: "failuredomain/unknown-fields-lost", File: "vsphere.go", Func: "writeNetworks",
		From:  "devices = was",
		To:    "devices = make([]object, 0, len(was))",
		Finds: "TestInAnotherDomain", Note: "addresses from pools are lost",
	},
}
