package mutants

// inplaceMutants are in what is said and decided about updates in place.
var inplaceMutants = []Mutant{
	{
		ID: "inplace/late-answer-counts", File: "state.go", Func: "Update.State",
		From:  "late && u.Answer.Known()",
		To:    "late && u.Answer.Known() && u.Request == RequestNone",
		Finds: "TestState", Note: "a machine is handed over for an update that was asked for another template",
	},
	{
		ID: "inplace/done-before-it-is-said", File: "state.go", Func: "Update.State",
		From:  " && u.Phase != PhaseUpdating",
		To:    "",
		Finds: "TestState", Note: "a machine is handed over while its controller still waits for its node",
	},
	{
		ID: "inplace/patience-is-endless", File: "state.go", Func: "Update.unanswered",
		From:  ", u.Mark.drained() && u.Phase == PhaseFailed",
		To:    "",
		Finds: "TestState", Note: "a rollout waits for ever for a node agent that never answers",
	},
	{
		ID: "inplace/begins-undrained", File: "moves.go", Func: "Update.asking",
		From:  "updating || drained",
		To:    "updating || drained || u.Mark == MarkSelected",
		Finds: "TestDue", Note: "the node agent restarts a node from which nobody moved the workloads away",
	},
	{
		ID: "inplace/called-off-at-once", File: "moves.go", Func: "Update.asking",
		From:  "!u.Request.Candidate() && updating",
		To:    "!u.Request.Candidate() && updating && u.Mark == MarkNone",
		Finds: "TestDue", Note: "a node takes pods while its agent is at work",
	},
	{
		ID: "inplace/choice-is-taken-back", File: "moves.go", Func: "Update.Offered",
		From:  "u.State() == Unasked, u.Request.Selected()",
		To:    "u.State() == Unasked",
		Finds: "TestOffered", Note: "what a person selected is deselected with the next pass",
	},
	{
		ID: "inplace/failure-is-forgotten", File: "moves.go", Func: "Update.Ended",
		From:  "u.Answer == AnswerFailed, u.State().Underway()",
		To:    "u.State().Underway()",
		Finds: "TestEnded", Note: "nobody sees why the update of a node failed once its template is the present one again",
	},
	{
		ID: "inplace/change-goes-unseen", File: "moves.go", Func: "Update.Alike",
		From:  "a == b || a.Underway() && b.Underway()",
		To:    "a == b || a.Underway()",
		Finds: "TestAlike", Note: "a rollout does not see that an update has ended, until it looks again by itself",
	},
	{
		ID: "inplace/failed-update-runs", File: "moves.go", Func: "Update.Heard",
		From:  "p == PhaseRunning && u.Request == RequestSelected",
		To:    "false",
		Finds: "TestUpdates", Note: "a machine whose record was lost runs half updated for ever; some world in thousands shows it",
	},
}
