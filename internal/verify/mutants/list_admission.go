package mutants

// admissionMutants are in what is refused, let pass and filled in when an object is written, and in how a certificate is renewed.
var admissionMutants = []Mutant{
	{
		ID: "admission/refuses-what-stood", File: "rules.go", Func: "Verdict.spare",
		From: "if !unchanged {",
		To:   "if !unchanged || len(v.Faults) > 0 {",
		Note: "a set whose template is broken cannot be scaled, nor a machine be marked for the autoscaler",
	},
	{
		ID: "admission/changed-spec-passes", File: "rules.go", Func: "Rules.Machine",
		From: "v.spare(same)",
		To:   "v.spare(old != nil)",
		Note: "a spec can be broken later",
	},
	{
		ID: "admission/deletion-judged", File: "rules.go", Func: "Rules.Machine",
		From: "!deleting || !same",
		To:   "true",
		Note: "a machine in deletion is told about its spec with every finalizer",
	},
	{
		ID: "admission/hooks-of-the-living", File: "rules.go", Func: "Rules.Machine",
		From: "if deleting && old != nil {",
		To:   "if old != nil {",
		Note: "nobody can add a hook to a machine",
	},
	{
		ID: "admission/hooks-by-name", File: "rules.go", Func: "added",
		From: "!slices.Contains(old, h)",
		To:   "!slices.ContainsFunc(old, func(o machinev1.LifecycleHook) bool { return o.Name == h.Name })",
		Note: "a hook gets another owner while its machine goes",
	},
	{
		ID: "admission/selector-moves", File: "rules.go", Func: "Rules.MachineSet",
		From: "!sameSelector(&s.Spec.Selector, &old.Spec.Selector)",
		To:   "false",
		Note: "a set leaves its machines to nobody",
	},
	{
		ID: "admission/label-overwritten", File: "defaults.go", Func: "Rules.DefaultMachine",
		From: "!has && ",
		To:   "(has || !has) && ",
		Note: "a machine of another cluster is taken for one of this",
	},
	{
		ID: "admission/no-rules-is-a-fault", File: "spec.go", Func: "Rules.spec",
		From: "if r.Admitter == nil {",
		To:   "if r.Admitter == nil && !absent(s) {",
		Note: "an infrastructure without rules refuses machines; a panic that becomes a warning in a real server",
	},
	{
		ID: "admission/panic-refuses", File: "handler.go", Func: "handler.hook",
		From: `webhook.Allowed("").WithWarnings("not judged: " + err.Error())`,
		To:   "webhook.Denied(err.Error())",
		Note: "a defect in one rule keeps everybody from working",
	},
	{
		ID: "admission/unseen-is-absent", File: "handler.go", Func: "handler.lacks",
		From: "case apierrors.IsNotFound(err):",
		To:   "case err != nil:",
		Note: "a secret that may not be read is said not to exist",
	},
	{
		ID: "admission/silence-forgets", File: "cluster.go", Func: "Facts.read",
		From: "case apierrors.IsNotFound(err):",
		To:   "case err != nil:",
		Note: "an API server that does not answer once turns the rules off",
	},
	{
		ID: "certs/old-ca-dropped", File: "material.go", Func: "Material.Renewed",
		From: "slices.Concat(made.certPEM, living(now, m.Bundle))",
		To:   "made.certPEM",
		Note: "API servers that have the new CA refuse what is still served",
	},
	{
		ID: "certs/new-ca-signs-at-once", File: "material.go", Func: "Material.Renewed",
		From: "if !old.usable(now) { // nobody",
		To:   "if true { // nobody",
		Note: "API servers that have the old CA refuse what is served already",
	},
	{
		ID: "certs/never-due", File: "material.go", Func: "due",
		From: "c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3)",
		To:   "c.NotAfter.Add(1000000 * time.Hour)",
		Note: "certificates expire",
	},
	{
		ID: "certs/theirs-overwritten", File: "configurations.go", Func: "configuration.theirs",
		From: "if key == serviceCA || strings.HasPrefix(key, certManager) {",
		To:   "if key == serviceCA {",
		Note: "two write their CA into one configuration, in turns",
	},
	{
		ID: "certs/folder-never-again", File: "keeper.go", Func: "Keeper.read",
		From: "	k.made.Store(nil)\n",
		To:   "",
		Note: "a certificate that is mounted later is not served",
	},
}
