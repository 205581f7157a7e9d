package collect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

func details(t *testing.T, c client.Reader, kind, name string) collect.Detail {
	t.Helper()
	d, err := collect.Details(context.Background(), now, collect.Clusters{Control: c, Target: c}, collect.Question{Kind: kind, Name: name, Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// alike returns a machine whose recorded node does not exist.
func alike(name string, change ...func(*machinev1.Machine)) *machinev1.Machine {
	m := openshiftMachine("Running", 5*time.Hour, withNodeO)
	m.Name, m.UID, m.Status.NodeRef.Name = name, types.UID("uid-"+name), "node-of-"+name
	for _, c := range change {
		c(m)
	}
	return m
}

// TestCohort: the details of a health check have the verdicts and the plan of its controller.
func TestCohort(t *testing.T) {
	some := check("some", func(c *lenient.MachineHealthCheck) { c.Spec.MaxUnhealthy = lenient.AmountOf("50%") })
	skipped := alike("skipped", func(m *machinev1.Machine) { m.Annotations = map[string]string{dialect.SkipRemediationAnnotation: ""} })
	objects := append(atWork(), some, node("True", "KubeletReady", "", time.Hour), openshiftMachine("Running", 5*time.Hour, withNodeO), alike("other", func(m *machinev1.Machine) {
		m.Status.NodeRef.Name = openshiftMachine("Running", 0, withNodeO).Status.NodeRef.Name
	}), alike("lost"), skipped)
	c := details(t, cluster(t, nil, objects...), "MachineHealthCheck", "some").Cohort
	if c == nil || c.Plan.Expected != 4 || c.Plan.Healthy != 2 || c.Plan.Max != 2 || !c.Plan.Allowed || len(c.Plan.Cases) != 2 {
		t.Fatalf("cohort %+v, want 2 healthy machines of 4", c)
	}
	acts := map[string]string{}
	for _, one := range c.Plan.Cases {
		acts[one.Target.Name] = string(one.Act) + ": " + one.Why
	}
	if acts["lost"] != "Do: node node-of-lost does not exist any more" || acts["skipped"] != "Leave: the machine is to be left alone" {
		t.Errorf("acts %v", acts)
	}
}

// TestCohortIsUnknown: if nodes or machines cannot be read, the health check has no cohort.
func TestCohortIsUnknown(t *testing.T) {
	for _, list := range []string{"*v1.NodeList", "*v1beta1.MachineList"} {
		refuse := func(what string) error {
			if what == list {
				return errors.New("connection refused")
			}
			return nil
		}
		d := details(t, cluster(t, refuse, append(atWork(), check("some"), alike("lost"))...), "MachineHealthCheck", "some")
		if d.Cohort != nil || len(d.Gaps) == 0 {
			t.Errorf("without %s: cohort %+v, gaps %v; want no cohort and a gap", list, d.Cohort, d.Gaps)
		}
	}
}

// TestCheckOfAnUnknownAPI: a user may write any API into the annotation. For an unknown API, the health check has no
// cohort.
func TestCheckOfAnUnknownAPI(t *testing.T) {
	odd := check("odd", func(c *lenient.MachineHealthCheck) {
		c.Annotations = map[string]string{dialect.MachineAPIAnnotation: "machines.example.com"}
	})
	d := details(t, cluster(t, nil, append(atWork(), odd, check("other"), alike("lost"))...), "MachineHealthCheck", "odd")
	if d.Cohort != nil || d.Kind != "MachineHealthCheck" {
		t.Errorf("details %+v, want a health check without a cohort", d)
	}
}

// TestDeployed: the details of a deployment have its sets, the input of its controller, and its unhealthy machines.
func TestDeployed(t *testing.T) {
	objects := append(atWork(), rollout(2, 1, gardenerDeployment(), nil)...)
	for _, o := range objects {
		if m, is := o.(*v1alpha1.Machine); is && m.Name == "mill-1-0" {
			m.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
		}
	}
	d := details(t, cluster(t, nil, objects...), "MachineDeployment", "mill").Deployed
	if d == nil || len(d.Sets) != 2 || d.Rollout == nil || len(d.Rollout.Sets) != 2 || len(d.Members) != 1 || d.Members[0].Name != "mill-1-0" {
		t.Fatalf("deployed %+v", d)
	}
	refuse := func(what string) error {
		if what == "*v1.NodeList" {
			return errors.New("connection refused")
		}
		return nil
	}
	if d := details(t, cluster(t, refuse, objects...), "MachineDeployment", "mill").Deployed; d == nil || d.Rollout != nil || len(d.Sets) != 2 {
		t.Errorf("without nodes: deployed %+v", d)
	}
}
