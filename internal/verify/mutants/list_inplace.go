package mutants

// inplaceMutants are in the reports and decisions about updates in place.
var inplaceMutants = []Mutant{
	{
		ID: "inplace/late-answer-counts", File: "state.go", Func: "Update.State",
		From:  "late && u.Answer.Known()",
		To:    "late && u.Answer.Known() && u.Request == RequestNone",
		Finds: "TestState", Note: "a machine is handed over after an update to another template than the present one",
	},
	{
		ID: "inplace/done-before-it-is-said", File: "state.go", Func: "Update.State",
		From:  " && u.Phase != PhaseUpdating",
		To:    "",
		Finds: "TestState", Note: "a machine is handed over while its controller still waits for the node",
	},
	{
		ID: "inplace/patience-is-endless", File: "state.go", Func: "Update.unanswered",
		From:  ", u.Mark.drained() && u.Phase == PhaseFailed",
		To:    "",
		Finds: "TestState", Note: "a rollout waits for ever for a node agent that does not answer",
	},
	{
		ID: "inplace/begins-undrained", File: "moves.go", Func: "Update.asking",
		From:  "updating || drained",
		To:    "updating || drained || u.Mark == MarkSelected",
		Finds: "TestDue", Note: "the node agent restarts a node whose workloads were not evicted",
	},
	{
		ID: "inplace/called-off-at-once", File: "moves.go", Func: "Update.asking",
		From:  "!u.Request.Candidate() && updating",
		To:    "!u.Request.Candidate() && updating && u.Mark == MarkNone",
		Finds: "TestDue", Note: "a node accepts pods while its agent works",
	},
	{
		ID: "inplace/choice-is-taken-back", File: "moves.go", Func: "Update.Offered",
		From:  "u.State() == Unasked, u.Request.Selected()",
		To:    "u.State() == Unasked",
		Finds: "TestOffered", Note: "the next reconcile removes a selection that a user made",
	},
	{
		ID: "inplace/failure-is-forgotten", File: "moves.go", Func: "Update.Ended",
		From:  "u.Answer == AnswerFailed, u.State().Underway()",
		To:    "u.State().Underway()",
		Finds: "TestEnded", Note: "the reason of a failed update is lost when the node's template becomes the present one again",
	},
	{
		ID: "inplace/change-goes-unseen", File: "moves.go", Func: "Update.Alike",
		From:  "a == b || a.Underway() && b.Underway()",
		To:    "a == b || a.Underway()",
		Finds: "TestAlike", Note: "a rollout notices the end of an update only at its next periodic reconcile",
	},
	{
		ID: "inplace/failed-update-runs", File: "moves.go", Func: "Update.Heard",
		From:  "p == PhaseRunning && u.Request == RequestSelected",
		To:    "false",
		Finds: "TestUpdates", Note: "a machine whose record was lost runs half updated for ever; one of thousands of worlds shows it",
	},
}
