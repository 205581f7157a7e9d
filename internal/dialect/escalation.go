package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Millwright's annotations on health checks of every API group.
const (
	// EscalationAnnotation with "reboot" makes a reboot the first remedy for a machine that would be deleted;
	// the default is "none".
	EscalationAnnotation = millwright.Escalation
	// RebootTimeoutAnnotation is how long a machine may take to be rebooted, and then to become healthy
	// ("5m"). The default is the check's startup timeout, or 10 minutes without one.
	RebootTimeoutAnnotation = millwright.RebootTimeout
)

// Millwright's annotations on machines of every API group.
const (
	// RebootRequestAnnotation requests a reboot. Health checks write it.
	RebootRequestAnnotation = millwright.RebootRequest
	// RebootAnnotation has the result of the last request. Millwright writes it.
	RebootAnnotation = millwright.Reboot
)

// Events about reboots.
const (
	EventRebootRequested     = "RebootRequested"
	EventRebootRequestFailed = "RebootRequestFailed"
	EventRebooted            = "Rebooted"
	EventRebootFailed        = "RebootFailed"
	EventRebootUnsupported   = "RebootUnsupported"
	// EventEscalated: a machine is replaced although, or because, a reboot was configured first.
	EventEscalated = "RebootDidNotHelp"
	// ActionReboot is the action of these events.
	ActionReboot = "Reboot"
)

// defaultRebootTimeout applies if neither the annotation nor a startup timeout is set.
const defaultRebootTimeout = 10 * time.Minute

// ReadEscalation reads what a check tries before it replaces a machine; startup is its startup timeout. An
// invalid value is a fault, and the default applies.
func ReadEscalation(annotations map[string]string, startup time.Duration) (health.Escalation, []lifecycle.Fault) {
	e := health.Escalation{Patience: startup}
	if startup <= 0 {
		e.Patience = defaultRebootTimeout
	}
	r := millwright.Read(annotations)
	word, _ := r.Word(EscalationAnnotation)
	e.Reboot = word == "reboot"
	if d, ok := r.Duration(RebootTimeoutAnnotation); ok {
		e.Patience = d
	}
	return e, faultsOf(r)
}

// storedRequest and storedReboot are the stored forms of a reboot.
type (
	storedRequest struct {
		At    string    `json:"at"`
		Until time.Time `json:"until"`
		By    string    `json:"by,omitempty"`
		For   string    `json:"for,omitempty"`
	}
	storedReboot struct {
		Request string                `json:"request"`
		State   lifecycle.RebootState `json:"state"`
		At      time.Time             `json:"at"`
		Calls   int                   `json:"calls,omitempty"`
		Message string                `json:"message,omitempty"`
	}
)

// ReadRebooting reads the requested reboot of a machine, and its result. An invalid request has no effect:
// its time must have the form 2026-11-21T12:00:00Z.
func ReadRebooting(m client.Object) (out lifecycle.Rebooting) {
	r := millwright.Read(m.GetAnnotations())
	var asked storedRequest
	if _, err := r.JSON(RebootRequestAnnotation, &asked); err == nil {
		if t, err := time.Parse(time.RFC3339, asked.At); err == nil && t.UTC().Format(time.RFC3339) == asked.At {
			out.Request, out.Until, out.For = asked.At, asked.Until, asked.For
		}
	}
	var came storedReboot
	if _, err := r.JSON(RebootAnnotation, &came); err == nil {
		out.Answered, out.State, out.At, out.Calls, out.Message = came.Request, came.State, came.At, came.Calls, came.Message
	}
	return out
}

// WriteRebootRequest edits m to request, in the name of a check, the reboot asked.
func WriteRebootRequest(m client.Object, asked lifecycle.Rebooting, by string) {
	SetAnnotation(m, RebootRequestAnnotation, encoded(storedRequest{At: asked.Request, Until: asked.Until.UTC(), By: by, For: asked.For}))
}

// mostRebootMessage is the limit of a stored error, in bytes.
const mostRebootMessage = 400

// WriteReboot edits m to record the result of a request.
func WriteReboot(m client.Object, r lifecycle.Rebooting) {
	message := strings.ToValidUTF8(r.Message[:min(len(r.Message), mostRebootMessage)], "")
	SetAnnotation(m, RebootAnnotation, encoded(storedReboot{Request: r.Answered, State: r.State, At: r.At.UTC(), Calls: r.Calls, Message: message}))
}

// RecordReboot writes the progress of the reboot in o into m, if m requests that one.
func RecordReboot(m client.Object, o lifecycle.Outcome) {
	says := ReadRebooting(m)
	if knows := says.Saw(o.World.Reboot); !knows.Equal(says) && !o.Did(lifecycle.RemoveFinalizer) {
		WriteReboot(m, knows)
	}
}

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%T has an encoding, always: %v", v, err))
	}
	return string(raw)
}
