package mutants

// sdkMutants are in the SDK and its decorators.
var sdkMutants = []Mutant{
	{
		ID: "provider/token-by-name", File: "provider.go", Func: "Ref.Token",
		From:      "cluster, r.UID)",
		To:        "cluster, r.Name)",
		Statement: 1, Note: "the token of Create is the same for a machine and for its successor",
	},
	{
		ID: "provider/token-without-cluster", File: "provider.go", Func: "Ref.Token",
		From: "cluster, r.UID)",
		To:   `"", r.UID)`,
		Note: "tokens of two clusters are the same",
	},
	{
		ID: "kit/denied-client-kept", File: "clients.go", Func: "Clients.Observe",
		From: "if provider.KindOf(err) != provider.Denied {",
		To:   "if true {",
		Note: "a client whose credentials were denied is used again",
	},
	{
		ID: "provider/unknown-is-invalid", File: "errors.go", Func: "KindOf",
		From: "return Transient",
		To:   "return Invalid",
		Note: "an unclassified error counts as a refusal of the spec; statement 6 holds, because a requested instance is looked up and removed whatever the error was",
	},
	{
		ID: "provider/nothing-is-same", File: "identity.go", Func: "SameInstance",
		From: `name != "" && `,
		To:   "",
		Note: "two empty provider IDs name the same instance; statement 2 holds, because each caller that compares has a provider ID",
	},
	{
		ID: "kit/abandoned-shared", File: "clients.go", Func: "Clients.Get",
		From: "!abandoned(e.err) || ctx.Err() != nil",
		To:   "true",
		Note: "a caller gets the error of another call that was cancelled",
	},
	{
		ID: "capacity/users-value-overwritten", File: "annotations.go", Func: "merge.value",
		From:  "ok && has != m.was[key]",
		To:    "ok && false && has == m.was[key]",
		Note:  "a disk size that a user set is overwritten",
		Finds: "TestAnnotate",
	},
	{
		ID: "capacity/users-taint-doubled", File: "annotations.go", Func: "taintKey",
		From:  `return labelKey(rest) + ":" + effect`,
		To:    `return rest + ":" + effect`,
		Note:  "a taint is published twice with different values, and the autoscaler uses either",
		Finds: "TestAnnotate",
	},
	{
		ID: "capacity/former-note-unread", File: "annotations.go", Func: "ownOf",
		From:  "have[formerAnnotation]; ok",
		To:    "have[formerAnnotation]; ok && false",
		Note:  "after an upgrade, the label of an architecture that the machines no longer have counts as the user's for ever",
		Finds: "TestAnnotate",
	},
	{
		ID: "decorate/fallback-elsewhere", File: "fallback.go", Func: "falling.fallback",
		From:  "mine.Scope != its.Scope",
		To:    "mine.Scope == its.Scope+\"x\"",
		Finds: "TestUnusableFallbacks", Note: "instances are created where no controller looks for them",
	},
	{
		ID: "decorate/fallback-silent", File: "fallback.go", Func: "fallbackSession.explain",
		From:  "len(s.unusable) == 0",
		To:    "true",
		Finds: "TestUnusableFallbacks", Note: "the reason for which a fallback is not tried is not reported",
	},
	{
		ID: "decorate/power-unguarded", File: "guard.go", Func: "changes",
		From: "Initialize: true, Maintain: true, Power: true",
		To:   "Initialize: true, Maintain: true",
		Note: "a process that lost its lease reboots an instance; the simulator has its own gate instead, which checks the same term",
	},
	{
		ID: "decorate/unguarded", File: "guard.go", Func: "Guard",
		From: "if !changes[c.Verb] {",
		To:   "if true {",
		Note: "a process that lost its lease changes an infrastructure; the simulator has its own gate instead, which checks the same term",
	},
	{
		ID: "decorate/throttling-unheard", File: "limit.go", Func: "limiter.around",
		From: "if provider.KindOf(err) == provider.Throttled {",
		To:   "if false {",
		Note: "calls continue at the same rate after the infrastructure asked for fewer",
	},
	{
		ID: "decorate/listing-before-write", File: "writes.go", Func: "writes.before",
		From: "m.ended < l.began",
		To:   "m.ended < l.began+100",
		Note: "a listing that is older than a write answers; statement 5 is not checked, because no simulated process shares listings",
	},
	{
		ID: "decorate/listing-hides-write", File: "writes.go", Func: "mark.seen",
		From:  "hidden(e.at) && !e.in(",
		To:    "hidden(e.at) && false && !e.in(",
		Finds: "TestListingThatShowsTheWriteIsBelieved", Note: "a listing answers that may lag behind a write and does not show it",
	},
	{
		ID: "decorate/deletion-of-others", File: "writes.go", Func: "writes.goesOn",
		From:  "e.leaving && ",
		To:    "",
		Finds: "TestDeletionOfAnotherProcessIsAWrite", Note: "a listing that is older than a deletion answers",
	},
	{
		ID: "decorate/scope-by-zone", File: "coalesce.go", Func: "scopeOf",
		From:  "says, place = []byte(t.Scope), class.Region",
		To:    "says = []byte(t.Scope)",
		Note:  "each zone needs its own listing, although the session says that all zones list the same",
		Finds: "TestClassesShareAListing",
	},
	{
		ID: "decorate/half-a-listing", File: "coalesce.go", Func: "scope.fill",
		From: `l.err = err
			s.drop(l)
			return`,
		To:   "break",
		Note: "a listing that failed half-way answers; statement 6 is not checked, because no simulated process shares listings",
	},
	{
		ID: "decorate/listing-proves-absence", File: "coalesce.go", Func: "listing.answer",
		From: "len(provider.Existing(found)) == 0",
		To:   "false",
		Note: "a listing proves that a machine has no instance; statement 6 is not checked, because no simulated process shares listings",
	},
	{
		ID: "decorate/loose-unseen", File: "coalesce.go", Func: "listing.answer",
		From: "i.Name == ref.Name || ",
		To:   "",
		Note: "an instance without a UID that has the name of the machine is not seen; statement 2 is not checked, because no simulated process shares listings",
	},
}
