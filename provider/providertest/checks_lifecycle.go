package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"

	"github.com/millwright-dev/millwright/provider"
)

func lifecycleChecks() []Check {
	return []Check{
		check("name", "flags, metrics and binaries are named after the provider", checkName),
		check("life", "a machine is created, found, listed and removed without a trace", checkLife),
		check("not made", "what was never made is reported as nothing, without an error", checkNotMade),
		check("provider ID format", "the engine links nodes by provider ID, in the format of the API", checkProviderID),
		check("delete the missing", "a machine whose instance never came to be must go at once", checkDeleteMissing),
		check("delete repeated", "a delete is repeated after every crash and change of leader", checkDeleteRepeated),
		check("deleted outside", "an instance that another client deleted must not be reported as existing", checkDeletedOutside),
		check("class gone", "a machine whose class was deleted first can still be deleted", checkClassGone),
		check("arguments untouched", "classes and wants are shared by callers", checkArguments),
		check("listing abandoned", "a caller that has seen enough stops ranging", checkListAbandoned),
	}
}

func checkName(_ context.Context, b *bench) error {
	if n := b.provider.Name(); !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(n) {
		return fmt.Errorf("name %q is not a short lower-case word", n)
	}
	return nil
}

func checkLife(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := describes(made, ref); err != nil {
		return fmt.Errorf("what create reports: %w", err)
	}
	i, err := b.awaitRunning(ctx, ref)
	if err != nil {
		return err
	}
	if i.ID != made.ID {
		return fmt.Errorf("create reported %s, find reports %s", made.ID, i.ID)
	}
	if err := errors.Join(describes(i, ref), b.listed(ctx, i), b.holds(1)); err != nil {
		return err
	}
	if i.ProviderID == "" {
		return errors.New("a running instance has no provider ID")
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

// describes checks that i belongs to ref.
func describes(i provider.Instance, ref provider.Ref) error {
	switch {
	case i.ID == "":
		return errors.New("no ID")
	case i.UID != ref.UID:
		return fmt.Errorf("UID %q, want %q", i.UID, ref.UID)
	case i.Name != ref.Name:
		return fmt.Errorf("name %q, want %q", i.Name, ref.Name)
	case i.State == "":
		return errors.New("no state")
	}
	return nil
}

// listed checks that the listing shows i once, as find does.
func (b *bench) listed(ctx context.Context, i provider.Instance) error {
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, l := range all {
		if l.ID != i.ID {
			continue
		}
		n++
		if l.UID != i.UID || l.Name != i.Name || l.ProviderID != i.ProviderID {
			return fmt.Errorf("list reports %s as %q %q %q, find as %q %q %q",
				i.ID, l.UID, l.Name, l.ProviderID, i.UID, i.Name, i.ProviderID)
		}
	}
	if n != 1 {
		return fmt.Errorf("list reports %s %d times", i.ID, n)
	}
	return nil
}

func checkNotMade(ctx context.Context, b *bench) error {
	if _, err := b.running(ctx, b.ref("another")); err != nil {
		return err
	}
	all, err := b.session.Find(ctx, b.ref("m"))
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	if len(all) > 0 {
		return fmt.Errorf("find reports %s, which is made for another machine", all[0].Name)
	}
	return nil
}

func checkProviderID(ctx context.Context, b *bench) error {
	format := b.ProviderID[b.api]
	if format == nil {
		return Skip("the harness states no provider ID format for this API")
	}
	i, err := b.running(ctx, b.ref("m"))
	if err != nil {
		return err
	}
	if m := format.FindString(i.ProviderID); m != i.ProviderID || m == "" {
		return fmt.Errorf("provider ID %q is not of the form %s", i.ProviderID, format)
	}
	return nil
}

func checkDeleteMissing(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	done, err := b.session.Delete(ctx, ref, nil)
	if err != nil || !done {
		return fmt.Errorf("delete of what was never made: done %t, error %w", done, orNone(err))
	}
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	done, err = b.session.Delete(ctx, ref, []provider.Instance{i})
	if err != nil || !done {
		return fmt.Errorf("delete of a deleted instance: done %t, error %w", done, orNone(err))
	}
	return nil
}

var errNone = errors.New("none")

// orNone replaces a nil error in a message.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

func checkDeleteRepeated(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if _, err := b.session.Delete(ctx, ref, []provider.Instance{i}); err != nil {
		return fmt.Errorf("first delete: %w", err)
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	// The instance is passed in its earlier state: after a crash the engine has no newer one.
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return fmt.Errorf("repeated by a fresh process: %w", err)
	}
	return b.gone(ctx, ref)
}

func checkDeletedOutside(ctx context.Context, b *bench) error {
	if b.Remove == nil {
		return Skip("the infrastructure cannot remove an instance (Knobs.Remove)")
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.Remove(b.class, i.ID); err != nil {
		return fmt.Errorf("remove around the provider: %w", err)
	}
	err = b.eventually(ctx, "an instance removed outside is seen as gone", func() (bool, error) {
		found, err := b.find(ctx, ref)
		return len(found) == 0, err
	})
	if err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkArguments(ctx context.Context, b *bench) error {
	w := b.want()
	if _, err := b.session.Create(ctx, b.ref("m"), w); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if !bytes.Equal(b.class.Spec, b.pristine.Spec) || !maps.EqualFunc(b.class.Credentials, b.pristine.Credentials, bytes.Equal) {
		return errors.New("the class has changed")
	}
	if !bytes.Equal(w.UserData, b.want().UserData) {
		return errors.New("the want has changed")
	}
	return nil
}

func checkListAbandoned(ctx context.Context, b *bench) error {
	for _, name := range []string{"a", "b", "c"} {
		if _, err := b.running(ctx, b.ref(name)); err != nil {
			return err
		}
	}
	seen := 0
	for _, err := range b.session.List(ctx) {
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		seen++
		break
	}
	if seen != 1 {
		return errors.New("list reports nothing")
	}
	return nil
}

// checkClassGone removes an instance through a class that has lost its spec.
func checkClassGone(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if _, err := b.session.Create(ctx, ref, b.want()); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	i, err := b.awaitRunning(ctx, ref)
	if err != nil {
		return err
	}
	b.class.Spec = nil
	if err := b.restart(ctx); err != nil {
		return fmt.Errorf("without a spec: %w", err)
	}
	if _, err := b.session.Create(ctx, b.ref("other"), b.want()); provider.KindOf(err) != provider.Invalid {
		return fmt.Errorf("create without a spec: want an Invalid error, got %w", errOrNone(err))
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

// errOrNone replaces a nil error.
func errOrNone(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}
