package openshift

import (
	"context"
	"errors"
	"reflect"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// errorFields are the fields of an actuator's error. The types of these errors are in the original's own
// packages, in several versions, so they are recognized by their fields.
type errorFields struct {
	// reason is the field Reason of an error that has one of the API's reasons; empty: no such error.
	reason machinev1.MachineStatusError
	// later: there is a field RequeueAfter, whose value is after.
	later bool
	after time.Duration
}

// read reads the fields of err, or of an error that it wraps.
func read(err error) errorFields {
	for _, one := range chain(err) {
		v := reflect.Indirect(reflect.ValueOf(one))
		if v.Kind() != reflect.Struct {
			continue
		}
		if d, ok := field(v, "RequeueAfter", reflect.Int64); ok && d.Type() == reflect.TypeFor[time.Duration]() {
			return errorFields{later: true, after: time.Duration(d.Int())}
		}
		if r, ok := field(v, "Reason", reflect.String); ok && r.Type().Name() == reflect.TypeFor[machinev1.MachineStatusError]().Name() {
			return errorFields{reason: machinev1.MachineStatusError(r.String())}
		}
	}
	return errorFields{}
}

func field(v reflect.Value, name string, kind reflect.Kind) (reflect.Value, bool) {
	f := v.FieldByName(name)
	return f, f.IsValid() && f.Kind() == kind
}

// chain returns err and all errors that it wraps, outermost first.
func chain(err error) (all []error) {
	if err == nil {
		return nil
	}
	all = []error{err}
	switch w := err.(type) { //nolint:errorlint // each error of the chain is checked by itself
	case interface{ Unwrap() error }:
		all = append(all, chain(w.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, one := range w.Unwrap() {
			all = append(all, chain(one)...)
		}
	}
	return all
}

// kinds maps an actuator's reasons to reactions. After other reasons the outcome is open: the engine searches
// for the instance before it creates another.
var kinds = map[machinev1.MachineStatusError]provider.Kind{
	machinev1.InvalidConfigurationMachineError:  provider.Invalid,
	machinev1.InsufficientResourcesMachineError: provider.Exhausted,
}

// classified converts an actuator's error for the engine. A classified error stays the same.
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
