package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

func specChecks() []Check {
	return []Check{
		check("bad specs", "a spec that cannot work is refused with the field's name before anything is bought", checkBadSpecs),
		check("not JSON", "a spec that cannot be read at all is Invalid, not a failure to retry", checkNotJSON),
	}
}

func checkBadSpecs(ctx context.Context, b *bench) error {
	tried := 0
	for _, bad := range b.BadSpecs {
		if bad.API != "" && bad.API != b.api {
			continue
		}
		tried++
		class := b.class
		class.Spec = []byte(bad.Spec)
		if _, err := b.provider.Open(ctx, class); !namesField(err, bad.Field) {
			return fmt.Errorf("%s: want an Invalid error that names %q, got %w", bad.Reason, bad.Field, orNone(err))
		}
	}
	if tried == 0 {
		return Skip("the harness states no bad specs for this API")
	}
	return nil
}

// joined is the interface of the result of [errors.Join].
type joined interface {
	error
	Unwrap() []error
}

// namesField reports whether err, or one of the errors joined in it, is Invalid
// and about the field.
func namesField(err error, field string) bool {
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Invalid && e.Field == field {
		return true
	}
	all, ok := errors.AsType[joined](err)
	return ok && slices.ContainsFunc(all.Unwrap(), func(e error) bool { return namesField(e, field) })
}

func checkNotJSON(ctx context.Context, b *bench) error {
	class := b.class
	class.Spec = []byte(`{"`)
	_, err := b.provider.Open(ctx, class)
	if err == nil {
		return errors.New("open accepts a spec that is no JSON")
	}
	if k := provider.KindOf(err); k != provider.Invalid {
		return fmt.Errorf("read as %s, want Invalid: %w", k, err)
	}
	return nil
}
