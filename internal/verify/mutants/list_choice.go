package mutants

// choiceWorlds is a setting that several mutants name.
const choiceWorlds = "choices"

// choiceMutants are in what is decided about choices, and in the shell that asks for them.
var choiceMutants = []Mutant{
	{
		ID: "choice/account-is-a-type", File: "choice.go", Func: "within",
		From:  "return all[0]",
		To:    "return all[2]",
		Like:  choiceWorlds,
		Note:  "with the account's quota used up, every zone is asked in vain",
		Finds: "TestPick",
	},
	{
		ID: "choice/lost-reply-forgotten", File: "choice.go", Func: "Pick",
		From:  `n >= 0 && unanswered != ""`,
		To:    "n > len(choices)",
		Like:  choiceWorlds,
		Note:  "after a lost reply another choice is asked for, of which the infrastructure cannot tell that it is the same request",
		Finds: "TestPick",
	},
	{
		ID: "choice/exhausted-is-asked-again", File: "choice.go", Func: "Shortages.open",
		From:  "case until.After(now):",
		To:    "case until.After(now) && until.Before(now):",
		Like:  choiceWorlds,
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
		ID: "choice/short-for-ever", File: "shortages.go", Func: "Shortages.After",
		From:  "Until: a.At.Add(wait)",
		To:    "Until: a.At.Add(1000 * wait)",
		Like:  choiceWorlds,
		Note:  "what was found exhausted once is asked for no more, and with all choices so the machine waits for weeks",
		Finds: "TestPick",
	},
	{
		ID: "choice/given-up-is-cheap", File: "shortages.go", Func: "Shortages.After",
		From:  "avoid = a.At.Add(dear)",
		To:    "_ = dear",
		Like:  choiceWorlds,
		Note:  "as soon as the pause of a refusal is over, another machine is spent on what gives machines up",
		Finds: "TestPick",
	},
	{
		ID: "choice/given-up-is-closed", File: "choice.go", Func: "Shortages.open",
		From:  "case dear < 0:",
		To:    "case dear < -1:",
		Note:  "where every choice has given a machine up, nothing is asked for in an hour",
		Finds: "TestPick",
	},
	{
		ID: "choice/accepted-is-made", File: "order.go", Func: "Order.News",
		From:  `return o.Choice != "" && i.State == provider.Running`,
		To:    `return o.Choice != ""`,
		Note:  "an instance that is pending ends the shortage, and every machine asks for what may be given up as the one before",
		Finds: "TestNews",
	},
	{
		ID: "choice/old-news", File: "order.go", Func: "Order.Answer",
		From:  "a.At = i.Created",
		To:    "_ = i.Created",
		Note:  "a machine that failed days ago closes the best choice at each start of a process",
		Finds: "TestWhenItWasGivenUp",
	},
	{
		ID: "choice/anywhere-near", File: "order.go", Func: "Order.Answer",
		From:  "within(c, scope) != within(a.Choice, scope)",
		To:    "within(c, scope) != within(c, scope)",
		Note:  "a choice is taken to be exhausted although the instance that was given up may have been made of another",
		Finds: "TestAnswerOfAnInstance",
	},
	{
		ID: "machine/given-up-begins-no-shortage", File: "instances.go", Func: "instances.claim",
		From:  "s.market().sees(all, s.view.Stage == lifecycle.StageFailed || !s.view.Deleted.IsZero())",
		To:    "_ = all",
		Like:  choiceWorlds,
		Note:  "machine after machine is accepted and given up in a zone without room, while the next zone has some",
		Finds: "TestGivenUpIsAShortage",
	},
	{
		ID: "machine/next-choice-after-any-failure", File: "choices.go", Func: "market.buy",
		From:  "provider.KindOf(err) != provider.Exhausted",
		To:    "err == nil",
		Note:  "a reply is lost, and an instance is asked for again before anybody looks; no world shows it, as what got no answer is asked for of the same choice",
		Finds: "TestNoOtherChoiceForALostReply",
	},
}
