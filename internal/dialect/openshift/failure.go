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

// The beginnings of condition messages before an error.
const (
	notCreated = "Instance has not been created"
	notChecked = "Failed to check if machine exists"
	notDeleted = "Failed to delete the instance"
)

// notFound is the text for which clients wait if the infrastructure lists no instance.
const notFound = "can't find created instance"

// failed returns why m failed.
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

// Failure reads back m's record of the latest failed attempt to create its instance; nil if none exists.
// The API stores two of the kinds of failures, for a failed machine: an invalid spec, and missing capacity.
// All others are returned as [provider.Transient].
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
