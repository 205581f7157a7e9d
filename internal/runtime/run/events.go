package run

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// Recorder sends events under the name of a source: like its API's original, by core/v1 or by events.k8s.io.
// The roles of users allow no more.
func (p *Process) Recorder(api string, m ctrl.Manager, source string) events.EventRecorder {
	if known, _ := apis.Of(api); !known.CoreEvents {
		return m.GetEventRecorder(source)
	}
	return coreEvents{p.events.NewRecorder(p.scheme, corev1.EventSource{Component: source})}
}

// CoreRecorder sends events by core/v1 under the name of a source, for a program whose original has a role that allows no others.
func CoreRecorder(p *Process, source string) (events.EventRecorder, error) {
	if err := p.tellCore(); err != nil {
		return nil, err
	}
	return coreEvents{p.events.NewRecorder(p.scheme, corev1.EventSource{Component: source})}, nil
}

// burst is how many events of one source about one object are sent at once: events about many machines of one
// set are legitimate.
const burst = 250

// tellCore starts to send events by core/v1.
func (p *Process) tellCore() error {
	if p.events != nil {
		return nil
	}
	c, err := corev1client.NewForConfig(p.Control)
	if err != nil {
		return fmt.Errorf("make a client for events: %w", err)
	}
	p.events = record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{BurstSize: burst})
	p.events.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.Events("")})
	return nil
}

// coreEvents sends events by core/v1.
type coreEvents struct{ record.EventRecorder }

// Eventf implements [events.EventRecorder]. Events of core/v1 have no related object and no action.
func (e coreEvents) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	e.EventRecorder.Eventf(regarding, kind, reason, note, args...)
}
