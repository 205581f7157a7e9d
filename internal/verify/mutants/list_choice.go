package mutants

// choiceMutants are in what is decided about choices, and in the shell that asks for them.
var choiceMutants = []Mutant{
	{
		ID: "choice/account-is-a-type", File: "choice.go", Func: "within",
		From:  "return all[0]",
		To:    "return all[2]",
		Note:  "with the account's quota used up, every zone is asked in vain",
		Finds: "TestPick",
	},
	{
		ID: "choice/lost-reply-forgotten", File: "choice.go", Func: "Pick",
		From:  `n >= 0 && unanswered != ""`,
		To:    "n > len(choices)",
		Note:  "after a lost reply another choice is asked for, of which the infrastructure cannot tell that it is the same request",
		Finds: "TestPick",
	},
	{
		ID: "choice/exhausted-is-asked-again", File: "choice.go", Func: "Pick",
		From:  "!until.After(now)",
		To:    "until.IsZero() || now.Before(until)",
		Note:  "what was found exhausted is asked for at once by every machine",
		Finds: "TestPick",
	},
	{
		ID: "choice/room-goes-unnoticed", File: "shortages.go", Func: "Shortages.After",
		From:  "delete(out.known, p)",
		To:    "_ = p",
		Note:  "a shortage stays known although an instance was made there",
		Finds: "TestPick",
	},
	{
		ID: "choice/all-try-at-once", File: "shortages.go", Func: "Shortages.trying",
		From:  "now.Add(trial)",
		To:    "now",
		Note:  "when a pause is over, every machine that waits asks the infrastructure in vain",
		Finds: "TestOneTries",
	},
	{
		ID: "choice/one-answer-counts-for-many", File: "shortages.go", Func: "Shortages.After",
		From:  "a.Began.Before(was.Told)",
		To:    "a.At.Before(was.Told)",
		Note:  "eight workers that ask at once make a pause of hours of one of a minute",
		Finds: "TestAskedBefore",
	},
	{
		ID: "machine/next-choice-after-any-failure", File: "choices.go", Func: "pass.buy",
		From:  "provider.KindOf(err) != provider.Exhausted",
		To:    "err == nil",
		Note:  "a reply is lost, and an instance of another choice is asked for before anybody looks",
		Finds: "TestNoOtherChoiceForALostReply",
	},
}
