package openshift

import (
	"errors"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// What conditions say before an error.
const (
	notCreated = "Instance has not been created"
	notChecked = "Failed to check if machine exists"
	notDeleted = "Failed to delete the instance"
)

// notFound are the words for which clients wait where the infrastructure lists no instance.
const notFound = "can't find created instance"

// failed says why m was given up.
func failed(m *machinev1.Machine, why lifecycle.Decision) string {
	if !why.Args.Missing {
		return dialect.GivenUp(m.Name, why)
	}
	text := notFound
	if why.Args.Detail != "" {
		text += ": " + why.Args.Detail
	}
	if why.Err != nil {
		text += ": " + why.Err.Error()
	}
	return text
}

// Failure reads back what m records of the attempt at its instance that failed last;
// nil when it records none. Of the kinds of failures the API keeps two, of a machine that
// has failed: a spec that was refused, and no room. All others come back as
// [provider.Transient].
func (Machines) Failure(m *machinev1.Machine) error {
	if text := ptr.Deref(m.Status.ErrorMessage, ""); text != "" {
		switch ptr.Deref(m.Status.ErrorReason, "") {
		case machinev1.InvalidConfigurationMachineError:
			return provider.Errorf(provider.Invalid, "%s", text)
		case machinev1.InsufficientResourcesMachineError:
			return provider.Errorf(provider.Exhausted, "%s", text)
		}
		return errors.New(text)
	}
	for _, at := range []struct{ condition, frame string }{
		{dialect.StartedCondition(lifecycle.DeletionInstance), notDeleted},
		{string(machinev1.InstanceExistsCondition), notCreated},
		{string(machinev1.InstanceExistsCondition), notChecked},
	} {
		c := find(m, machinev1.ConditionType(at.condition))
		if text, ok := strings.CutPrefix(c.Message, at.frame+": "); ok {
			return errors.New(text)
		}
	}
	return nil
}
