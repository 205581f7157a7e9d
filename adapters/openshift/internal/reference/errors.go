package reference

import (
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// MachineError is an error with a reason, of the same shape as that of the original's packages.
type MachineError struct {
	Reason  machinev1.MachineStatusError
	Message string
}

func (e *MachineError) Error() string { return e.Message }

func invalid(format string, args ...any) *MachineError {
	return &MachineError{Reason: machinev1.InvalidConfigurationMachineError, Message: fmt.Sprintf(format, args...)}
}

// RequeueAfterError asks to be called again later.
type RequeueAfterError struct{ RequeueAfter time.Duration }

func (e *RequeueAfterError) Error() string { return fmt.Sprintf("requeue in: %v", e.RequeueAfter) }
