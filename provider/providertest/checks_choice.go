package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

func choiceChecks() []Check {
	return []Check{
		check("asked again", "what had no room is asked for again later, and some infrastructures remember what they refused", checkAskedAgain),
		check("choices named", "what one machine finds exhausted is remembered for others by name and place", onChoices(checkChoicesNamed)),
		check("choices made", "the instance shows the choice, and a class that names the choice is no drift", onChoices(checkChoicesMade)),
		check("choice exhausted", "the next choice is asked for as soon as one is exhausted", onChoices(checkChoiceExhausted)),
		check("choice exhausted for all", "how far a shortage reaches decides what else is tried", onChoices(checkChoiceScope)),
		check("choice lost", "a lost reply and another choice make no second instance", onChoices(checkChoiceLost)),
		check("choice unknown", "an instance of something else than was chosen is a surprise on a bill", onChoices(checkChoiceUnknown)),
	}
}

// checkAskedAgain repeats an exhausted create, and then creates the available choice, as processes do that
// know of more refusals.
func checkAskedAgain(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.inject(Create, Fault{Kind: provider.Exhausted, Scope: provider.ScopeType}); err != nil {
		return err
	}
	if _, err := b.session.Create(ctx, ref, b.want()); provider.KindOf(err) != provider.Exhausted {
		return fmt.Errorf("what is exhausted comes out as %w", orNone(err))
	}
	var first provider.Instance
	for _, attempt := range []int{1, 1, 2} {
		want := b.want()
		want.Attempt = attempt
		i, err := b.session.Create(ctx, ref, want)
		if err != nil {
			return fmt.Errorf("create with attempt %d: %w", attempt, err)
		}
		if first.ID != "" && i.ID != first.ID {
			return fmt.Errorf("create with attempt %d made %s beside %s", attempt, i.ID, first.ID)
		}
		first = i
		if err := b.restart(ctx); err != nil {
			return err
		}
	}
	if i, err := b.awaitRunning(ctx, ref); err != nil || i.ID != first.ID {
		return fmt.Errorf("find reports %q, want %s: %w", i.ID, first.ID, orNone(err))
	}
	return b.holds(1)
}

// onChoices opens the class with choices, and passes them to run.
func onChoices(run func(context.Context, *bench, []provider.Choice) error) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		if b.Choices == nil {
			return Skip("the harness has no spec with choices (Harness.Choices)")
		}
		b.class = b.Choices(b.class)
		if err := b.restart(ctx); err != nil {
			return err
		}
		all := b.session.Traits().Choices
		if len(all) < 2 {
			return fmt.Errorf("the spec has %d choices, want two or more", len(all))
		}
		return run(ctx, b, all)
	}
}

// choose creates, or requests again, the instance of ref with the choice.
func (b *bench) choose(ctx context.Context, ref provider.Ref, c provider.Choice) (provider.Instance, error) {
	want := b.want()
	want.Choice = c.Name
	return b.session.Create(ctx, ref, want)
}

func checkChoicesNamed(ctx context.Context, b *bench, all []provider.Choice) error {
	names, places := map[string]bool{}, map[provider.Choice]bool{}
	for n, c := range all {
		place := c
		place.Name, place.Equal = "", false
		if c.Equal && (n == 0 || c.Zone == "" || all[n-1].Zone == "") {
			return fmt.Errorf("choice %+v is equal to none, or machines are spread over zones without a name", c)
		}
		if c.Name == "" || names[c.Name] || places[place] {
			return fmt.Errorf("choice %+v has no name of its own, or no place and type of its own", c)
		}
		names[c.Name], places[place] = true, true
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	for range 2 {
		if again := b.session.Traits().Choices; !slices.Equal(again, all) {
			return fmt.Errorf("the same spec has the choices %+v, and then %+v", all, again)
		}
	}
	return nil
}

func checkChoicesMade(ctx context.Context, b *bench, all []provider.Choice) error {
	for n, c := range all {
		ref := b.ref(fmt.Sprintf("m-%d", n))
		if _, err := b.choose(ctx, ref, c); err != nil {
			return fmt.Errorf("create with choice %q: %w", c.Name, err)
		}
		i, err := b.awaitRunning(ctx, ref)
		if err != nil {
			return err
		}
		if c.Zone != "" && i.Zone != c.Zone || c.Region != "" && i.Region != "" && i.Region != c.Region {
			return fmt.Errorf("the instance of choice %+v is in region %q, zone %q", c, i.Region, i.Zone)
		}
		if i.Type == "" {
			return fmt.Errorf("the instance of choice %+v does not say its type", c)
		}
		if d := b.session.Differences(ref, i); len(d) > 0 {
			return fmt.Errorf("the instance of choice %q is called different from its class: %q", c.Name, d)
		}
	}
	return b.holds(len(all))
}

// checkChoiceExhausted falls back to the second choice, and removes the result.
func checkChoiceExhausted(ctx context.Context, b *bench, all []provider.Choice) error {
	ref := b.ref("m")
	if err := b.inject(Create, Fault{Kind: provider.Exhausted, Scope: provider.ScopeType}); err != nil {
		return err
	}
	if _, err := b.choose(ctx, ref, all[0]); provider.KindOf(err) != provider.Exhausted {
		return fmt.Errorf("an exhausted choice comes out as %w", orNone(err))
	}
	b.refused++
	if err := b.holdsNoInstance(); err != nil {
		return fmt.Errorf("after an exhausted choice: %w", err)
	}
	if _, err := b.choose(ctx, ref, all[1]); err != nil {
		return fmt.Errorf("create with the second choice: %w", err)
	}
	i, err := b.awaitRunning(ctx, ref)
	if err != nil {
		return err
	}
	if all[1].Zone != "" && i.Zone != all[1].Zone {
		return fmt.Errorf("the instance of choice %+v is in zone %q", all[1], i.Zone)
	}
	if err := b.holds(1); err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func (b *bench) holdsNoInstance() error {
	if b.Count == nil {
		return nil
	}
	if instances, _, err := b.Count(b.class); err != nil || instances > 0 {
		return fmt.Errorf("the infrastructure holds %d instances, error %w", instances, orNone(err))
	}
	return nil
}

func checkChoiceScope(ctx context.Context, b *bench, all []provider.Choice) error {
	for n, scope := range []provider.Scope{provider.ScopeType, provider.ScopeZone, provider.ScopeAccount} {
		if err := b.inject(Create, Fault{Kind: provider.Exhausted, Scope: scope}); err != nil {
			return err
		}
		_, err := b.choose(ctx, b.ref(fmt.Sprintf("m-%d", n)), all[0])
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Exhausted || e.Scope != scope {
			return fmt.Errorf("what is exhausted for the whole %s comes out as %w, without that scope", scope, orNone(err))
		}
	}
	return b.holdsNoInstance()
}

func checkChoiceLost(ctx context.Context, b *bench, all []provider.Choice) error {
	ref := b.ref("m")
	if err := b.inject(Create, Fault{Kind: provider.Transient, Done: true}); err != nil {
		return err
	}
	// A provider may have retried after the lost reply itself.
	if _, err := b.choose(ctx, ref, all[0]); err != nil && provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("a lost reply comes out as %w", err)
	}
	if err := errors.Join(b.tick(ctx), b.restart(ctx)); err != nil {
		return err
	}
	made, err := b.choose(ctx, ref, all[1])
	if err != nil {
		return fmt.Errorf("create with another choice after a lost reply: %w", err)
	}
	i, err := b.awaitRunning(ctx, ref)
	if err != nil {
		return err
	}
	if made.ID != i.ID || all[0].Zone != "" && i.Zone != all[0].Zone {
		return fmt.Errorf("create reports %s, and find %s in zone %q; want the one that was made in zone %q", made.ID, i.ID, i.Zone, all[0].Zone)
	}
	return b.holds(1)
}

func checkChoiceUnknown(ctx context.Context, b *bench, _ []provider.Choice) error {
	_, err := b.choose(ctx, b.ref("m"), provider.Choice{Name: "no such choice"})
	if provider.KindOf(err) != provider.Invalid {
		return fmt.Errorf("a choice that the spec does not have: want an Invalid error, got %w", orNone(err))
	}
	return b.holdsNoInstance()
}
