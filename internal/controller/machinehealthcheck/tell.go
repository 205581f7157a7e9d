package machinehealthcheck

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// tell says what changed: each machine that fell ill, once, that nothing may be
// remedied, and storms that were not remembered before.
func (p *pass[C]) tell(before health.Memory) {
	for _, s := range p.plan.Storms {
		if s.Over.IsZero() && !before.Rages(s.Group) {
			p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventStorm, dialect.ActionRemediate,
				"%d of %d machines of %s are sick: %s", s.Sick, s.Total, s.Group, stormy[p.check.Breaker.Mode])
		}
	}
	for _, n := range p.state.health.News() {
		if n.Now.State == health.Suspect || n.Now.State == health.Unhealthy && n.Was.State != health.Suspect {
			p.emit(&n.Target, corev1.EventTypeNormal, dialect.EventDetectedUnhealthy, dialect.ActionHealthCheck,
				fmt.Sprintf("Machine %s has unhealthy node %s: %s", p.title(&n.Target), n.Target.NodeName, n.Now.Message))
		}
	}
	restricted := !p.plan.Allowed
	if restricted && !p.state.restricted {
		total := p.plan.Expected + p.plan.Missing
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventRemediationRestricted, dialect.ActionRemediate,
			"Remediation restricted due to exceeded number of unhealthy machines (total: %v, unhealthy: %v, maxUnhealthy: %v)",
			total, total-p.plan.Healthy, p.check.MaxUnhealthy)
	}
	p.state.restricted = restricted
	p.Metrics.observe(client.ObjectKeyFromObject(p.object), p.plan.Expected, restricted)
}

// stormy is what a storm means for its machines.
var stormy = map[health.Mode]string{
	health.Report:  "the breaker only reports, so that this stops no remedy",
	health.Enforce: "they are left alone, and for a while after it",
}

// say tells of a remedy; %v in the format is the machine.
func (p *pass[C]) say(t *health.Target, kind, reason, format string) {
	p.emit(t, kind, reason, dialect.ActionRemediate, fmt.Sprintf(format, p.title(t)))
}

func (p *pass[C]) emit(t *health.Target, kind, reason, action, note string) {
	p.Recorder.Eventf(p.reference(t), nil, kind, reason, action, "%s", dialect.Note(note))
}

// title names a machine with its check and its node.
func (p *pass[C]) title(t *health.Target) string {
	return fmt.Sprintf("%s/%s/%s/%s", t.Namespace, p.object.GetName(), t.Name, t.NodeName)
}

// reference stands for the machine in events.
func (p *pass[C]) reference(t *health.Target) runtime.Object {
	m := p.patients.Machine()
	m.SetNamespace(t.Namespace)
	m.SetName(t.Name)
	m.SetUID(t.UID)
	if gvk, err := p.Client.GroupVersionKindFor(m); err == nil {
		m.GetObjectKind().SetGroupVersionKind(gvk)
	}
	m.SetCreationTimestamp(metav1.NewTime(t.Created))
	return m
}

// escape is the text of an error as part of a format.
func escape(err error) string { return strings.ReplaceAll(err.Error(), "%", "%%") }
