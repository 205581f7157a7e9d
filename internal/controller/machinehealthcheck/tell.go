package machinehealthcheck

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// tell reports changes: each machine that became unhealthy, once; that no remedy is permitted; and new
// storms.
func (p *pass[C]) tell(before health.Memory) {
	for _, s := range p.plan.Storms {
		if s.Over.IsZero() && !before.Rages(s.Group) {
			p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventStorm, dialect.ActionRemediate,
				"%d of %d machines of %s are sick: %s", s.Sick, s.Total, s.Group, stormy[p.check.Breaker.Mode])
		}
	}
	v := p.reporter()
	for _, n := range p.state.cohort.news() {
		if n.now.State == health.Suspect || n.now.State == health.Unhealthy && n.was.State != health.Suspect {
			v.emit(&n.target, corev1.EventTypeNormal, dialect.EventDetectedUnhealthy, dialect.ActionHealthCheck,
				fmt.Sprintf("Machine %s has unhealthy node %s: %s", v.title(&n.target), n.target.NodeName, n.now.Message))
		}
	}
	restricted := p.plan.Restricts
	if restricted && !p.state.restricted {
		total := p.plan.Expected + p.plan.Missing
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventRemediationRestricted, dialect.ActionRemediate,
			"Remediation restricted due to exceeded number of unhealthy machines (total: %v, unhealthy: %v, maxUnhealthy: %v)",
			total, total-p.plan.Healthy, p.check.MaxUnhealthy)
	}
	distrust := p.plan.Distrust
	if distrust.Reason != "" && distrust.Reason != p.state.distrust {
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventRemediationRestricted, dialect.ActionRemediate, "%s",
			dialect.Note(fmt.Sprintf("Remediation restricted (%s): %s", distrust.Reason, distrust.Text)))
	}
	p.state.restricted, p.state.distrust = restricted, distrust.Reason
	p.Metrics.observe(client.ObjectKeyFromObject(p.object), p.plan.Expected, restricted || distrust.Reason != "")
	p.Metrics.stormy(client.ObjectKeyFromObject(p.object), p.check.Breaker.Mode, len(p.plan.Storms))
}

// stormy is the consequence of a storm for its machines.
var stormy = map[health.Mode]string{
	health.Report:  "the breaker only reports, so that this stops no remedy",
	health.Enforce: "they are left alone, and for a while after it",
}

// eventReporter records events about the machines of a check.
type eventReporter struct {
	events events.EventRecorder
	// kinds has the kind names of machines.
	kinds    client.Client
	machines dialect.Patients
	// checkName is the name of the check.
	checkName string
}

func (p *pass[C]) reporter() eventReporter {
	return eventReporter{events: p.Recorder, kinds: p.Client, machines: p.patients, checkName: p.object.GetName()}
}

// say reports a remedy; %v in the format is the machine.
func (v eventReporter) say(t *health.Target, kind, reason, format string) {
	v.emit(t, kind, reason, dialect.ActionRemediate, fmt.Sprintf(format, v.title(t)))
}

func (v eventReporter) emit(t *health.Target, kind, reason, action, note string) {
	v.events.Eventf(v.reference(t), nil, kind, reason, action, "%s", dialect.Note(note))
}

// title names a machine with its check and its node.
func (v eventReporter) title(t *health.Target) string {
	return fmt.Sprintf("%s/%s/%s/%s", t.Namespace, v.checkName, t.Name, t.NodeName)
}

// reference is the machine's reference in events.
func (v eventReporter) reference(t *health.Target) runtime.Object {
	m := v.machines.Machine()
	m.SetNamespace(t.Namespace)
	m.SetName(t.Name)
	m.SetUID(t.UID)
	if gvk, err := v.kinds.GroupVersionKindFor(m); err == nil {
		m.GetObjectKind().SetGroupVersionKind(gvk)
	}
	m.SetCreationTimestamp(metav1.NewTime(t.Created))
	return m
}

// escape makes the text of an error safe as part of a format.
func escape(err error) string { return strings.ReplaceAll(err.Error(), "%", "%%") }
