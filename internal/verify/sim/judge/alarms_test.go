package judge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// TestAlarmStops: an old set deletes a machine although a check remembers a storm of the present set's template.
func TestAlarmStops(t *testing.T) {
	const raging = `{"storms":[{"kind":"template","name":"new","sick":3,"of":3}]}`
	for _, tc := range []struct {
		reason string
		// storms are the storms that the check remembers. over is the time since the end of a storm.
		storms string
		over   time.Duration
		// check and deploys change the check and the deployment.
		check   func(*lenient.MachineHealthCheck)
		deploys func(*v1alpha1.MachineDeployment)
		// later: the check remembers the storm only since the pass looked.
		later, broken bool
		// unheard: deployments run without checks, so they see no alarm.
		unheard bool
	}{
		{reason: "no storm"},
		{reason: "a storm", storms: raging, broken: true},
		{reason: "nobody hears of it", storms: raging, unheard: true},
		{reason: "nobody could know yet", storms: raging, later: true},
		{reason: "one of the old template", storms: `{"storms":[{"kind":"template","name":"old"}]}`},
		{reason: "one of a zone of that name", storms: `{"storms":[{"kind":"zone","name":"new"}]}`},
		{reason: "it is over, and its cooldown is not", over: 9 * time.Minute, broken: true},
		{reason: "its cooldown is over", over: 11 * time.Minute},
		{reason: "the breaker only reports", storms: raging, check: func(c *lenient.MachineHealthCheck) { c.Annotations[breaker] = "report" }},
		{reason: "the check is paused", storms: raging, check: func(c *lenient.MachineHealthCheck) { c.Annotations[remediationPaused] = "" }},
		{reason: "it is about others", storms: raging, check: func(c *lenient.MachineHealthCheck) { c.Spec.Selector.MatchLabels = map[string]string{"set": "other"} }},
		{reason: "it is about another API", storms: raging, check: func(c *lenient.MachineHealthCheck) { delete(c.Annotations, machineAPI) }},
		{reason: "the rollout is paused", storms: raging, deploys: func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }},
		{reason: "another number is wanted", storms: raging, deploys: func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 2 }},
	} {
		s := newScene()
		s.judge.Alarmed = !tc.unheard
		d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
		d.Spec.Replicas, d.Spec.Strategy.Type = 3, v1alpha1.RollingUpdateMachineDeploymentStrategyType
		d.Spec.Template.Spec.Class.Name = "new"
		if tc.deploys != nil {
			tc.deploys(d)
		}
		s.write(nil, d)
		set := func(class string, n int32) *v1alpha1.MachineSet {
			out := setOfDeployment(d, class)
			out.Annotations = map[string]string{desiredSize: "3"}
			out.Spec.Replicas, out.Spec.Template.Spec.Class.Name = n, class
			return out
		}
		s.write(nil, set("new", 1))
		s.write(nil, set("old", 3))
		c := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Annotations: map[string]string{machineAPI: "machine.sapcloud.io", breaker: "enforce"}}}
		if tc.later {
			s.write(nil, c.DeepCopy())
		}
		if c.Annotations[remediations] = tc.storms; tc.over > 0 {
			c.Annotations[remediations] = fmt.Sprintf(`{"storms":[{"kind":"template","name":"new","over":%q}]}`, s.now.Add(-tc.over).UTC().Format(time.RFC3339))
		}
		if tc.check != nil {
			tc.check(c)
		}
		if !tc.later {
			s.write(nil, c)
		}
		p := s.begin(Deployments, 1)
		p.Key.Name = "d"
		if tc.later {
			s.write(nil, c)
		}
		was := s.objects["old"]
		now := was.DeepCopyObject().(*v1alpha1.MachineSet)
		now.Spec.Replicas = 2
		s.judge.RolloutWrites(s.judge.Writes(p, false, 0), was, now)
		if broken := slices.Contains(s.broken, AlarmStops); broken != tc.broken {
			t.Errorf("%s: broken %v, want %v", tc.reason, broken, tc.broken)
		}
	}
}
