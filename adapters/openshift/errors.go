package openshift

import (
	"context"
	"errors"
	"reflect"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// said is what an actuator's error asks for. The types of these errors belong to the original's own
// packages, in several versions: they are known by their fields.
type said struct {
	// reason is the field Reason of an error that has one of the API's reasons; empty: there is none.
	reason machinev1.MachineStatusError
	// later says that there is a field RequeueAfter, which after is.
	later bool
	after time.Duration
}

// read finds what err, or one that it wraps, asks for.
func read(err error) said {
	for _, one := range chain(err) {
		v := reflect.Indirect(reflect.ValueOf(one))
		if v.Kind() != reflect.Struct {
			continue
		}
		if d, ok := field(v, "RequeueAfter", reflect.Int64); ok && d.Type() == reflect.TypeFor[time.Duration]() {
			return said{later: true, after: time.Duration(d.Int())}
		}
		if r, ok := field(v, "Reason", reflect.String); ok && r.Type().Name() == reflect.TypeFor[machinev1.MachineStatusError]().Name() {
			return said{reason: machinev1.MachineStatusError(r.String())}
		}
	}
	return said{}
}

func field(v reflect.Value, name string, kind reflect.Kind) (reflect.Value, bool) {
	f := v.FieldByName(name)
	return f, f.IsValid() && f.Kind() == kind
}

// chain is err with all that it wraps, outermost first.
func chain(err error) (all []error) {
	if err == nil {
		return nil
	}
	all = []error{err}
	switch w := err.(type) { //nolint:errorlint // each error of the chain is looked at by itself
	case interface{ Unwrap() error }:
		all = append(all, chain(w.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, one := range w.Unwrap() {
			all = append(all, chain(one)...)
		}
	}
	return all
}

// kinds are the reactions to an actuator's reasons. Whatever is not named here leaves the outcome open: the instance is
// looked for before it is asked for again.
var kinds = map[machinev1.MachineStatusError]provider.Kind{
	machinev1.InvalidConfigurationMachineError:  provider.Invalid,
	machinev1.InsufficientResourcesMachineError: provider.Exhausted,
}

// classified is an actuator's error as the engine reads it. What is classified already stays so.
func classified(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &provider.Error{Kind: provider.Transient, Err: err}
	}
	s := read(err)
	if s.later {
		return &provider.Error{Kind: provider.Conflict, After: s.after, Err: err}
	}
	if k, ok := kinds[s.reason]; ok {
		return &provider.Error{Kind: k, Err: err}
	}
	return &provider.Error{Kind: provider.Transient, Err: err}
}
