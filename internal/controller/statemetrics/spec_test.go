package statemetrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
)

const gauge, counter = dto.MetricType_GAUGE, dto.MetricType_COUNTER

// row is a row of a table of the spec, and what the objects of the test amount to in it.
type row struct {
	metric string
	kind   dto.MetricType
	// labels are those of the spec in its order, constant ones last.
	labels string
	// series are the values by those of the labels, separated by commas.
	series map[string]float64
	reason string
}

// shown gathers what a collector of some kinds shows.
func shown(t *testing.T, r client.Reader, kinds ...statemetrics.Kind) map[string]*dto.MetricFamily {
	t.Helper()
	return gathered(t, statemetrics.New(statemetrics.Options{Reader: r, Kinds: kinds}))
}

func gathered(t *testing.T, c *statemetrics.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// read are the series of a family by the values of the labels that are asked for.
func read(t *testing.T, f *dto.MetricFamily, labels string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, m := range f.GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		var names, values []string
		if labels != "" {
			names = strings.Split(labels, ",")
		}
		for _, name := range names {
			value, ok := has[name]
			if !ok {
				t.Errorf("%s has no label %s, but %v", f.GetName(), name, slices.Sorted(maps.Keys(has)))
			}
			values = append(values, value)
		}
		if len(has) != len(names) {
			t.Errorf("%s has the labels %v, want %s", f.GetName(), slices.Sorted(maps.Keys(has)), labels)
		}
		out[strings.Join(values, ",")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return out
}

// compare holds what is shown against the rows; there must be nothing else.
func compare(t *testing.T, got map[string]*dto.MetricFamily, rows []row) {
	t.Helper()
	wanted := map[string]bool{}
	for _, r := range rows {
		wanted[r.metric] = true
		t.Run(r.metric, func(t *testing.T) {
			f := got[r.metric]
			if f == nil {
				if len(r.series) > 0 {
					t.Errorf("is not there: %s", r.reason)
				}
				return
			}
			if f.GetType() != r.kind {
				t.Errorf("is a %v, want a %v", f.GetType(), r.kind)
			}
			if series := read(t, f, r.labels); !maps.Equal(series, r.series) {
				t.Errorf("is %v, want %v: %s", series, r.series, r.reason)
			}
		})
	}
	for name := range got {
		if !wanted[name] {
			t.Errorf("%s is shown and not in the table", name)
		}
	}
}

var born = metav1.NewTime(time.Unix(1700000000, 0))

const bornText = "1700000000"

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: born}
}

func reader(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func openshiftObjects() []client.Object {
	running := &machinev1.Machine{ObjectMeta: meta("m-1")}
	running.Spec.ProviderID = ptr.To("aws:///i-1")
	running.Status.NodeRef = &corev1.ObjectReference{Name: "node-1"}
	running.Status.Phase = ptr.To("Running")
	bare := &machinev1.Machine{ObjectMeta: meta("m-2")}
	bare.Status.Phase = ptr.To("Provisioning")
	unseen := &machinev1.Machine{ObjectMeta: meta("m-3")}
	blank := &machinev1.Machine{ObjectMeta: meta("m-4")}
	blank.Status.Phase = ptr.To("")
	set := &machinev1.MachineSet{ObjectMeta: meta("s-1")}
	set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = 5, 3, 2
	return []client.Object{running, bare, unseen, blank, set}
}

// Section 9.1 of the OpenShift notes, as far as it is about objects.
func TestOpenShiftTable(t *testing.T) {
	const group = "name,namespace"
	rows := []row{
		{"mapi_machine_items", gauge, "", map[string]float64{"": 4}, "all machines count, those without a phase too"},
		{"mapi_machineset_items", gauge, "", map[string]float64{"": 1}, "all sets count"},
		{
			"mapi_machine_created_timestamp_seconds", gauge, "name,namespace,spec_provider_id,node,api_version,phase",
			map[string]float64{"m-1,ns,aws:///i-1,node-1,,Running": 1700000000, "m-2,ns,,,,Provisioning": 1700000000},
			"only machines with a phase; what is not there yet is an empty label",
		},
		{"mapi_machineset_created_timestamp_seconds", gauge, group + ",api_version", map[string]float64{"s-1,ns,": 1700000000}, "Unix seconds"},
		{"mapi_machine_set_status_replicas", gauge, group, map[string]float64{"s-1,ns": 5}, "status.replicas"},
		{"mapi_machine_set_status_replicas_available", gauge, group, map[string]float64{"s-1,ns": 2}, "status.availableReplicas"},
		{"mapi_machine_set_status_replicas_ready", gauge, group, map[string]float64{"s-1,ns": 3}, "status.readyReplicas"},
		{"mapi_mao_collector_up", gauge, "kind", map[string]float64{"mapi_machine_items": 1, "mapi_machineset_items": 1}, "both could be read"},
	}
	compare(t, shown(t, reader(t, openshiftObjects()...), statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets()), rows)
}

var failedMachine = v1alpha1.MachineSummary{
	Name: "m-9", ProviderID: "id-9", OwnerRef: "s-1",
	LastOperation: v1alpha1.LastOperation{State: v1alpha1.MachineStateFailed, Type: v1alpha1.MachineOperationCreate},
}

func gardenerSet() *v1alpha1.MachineSet {
	s := &v1alpha1.MachineSet{ObjectMeta: meta("s-1")}
	s.Spec.Replicas, s.Spec.MinReadySeconds = 7, 60
	s.Spec.MachineClass = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool"}
	s.Status = v1alpha1.MachineSetStatus{
		Replicas: 6, FullyLabeledReplicas: 5, ReadyReplicas: 4, AvailableReplicas: 3,
		Conditions: []v1alpha1.MachineSetCondition{
			{Type: "Frozen", Status: v1alpha1.ConditionTrue},
			{Type: "ReplicaFailure", Status: v1alpha1.ConditionFalse},
			{Type: "Odd", Status: v1alpha1.ConditionUnknown},
			{Type: "Frozen", Status: v1alpha1.ConditionFalse},
		},
		FailedMachines: &[]v1alpha1.MachineSummary{failedMachine, failedMachine},
	}
	return s
}

func gardenerDeployment() *v1alpha1.MachineDeployment {
	d := &v1alpha1.MachineDeployment{ObjectMeta: meta("d-1")}
	three, quarter := intstr.FromInt32(3), intstr.FromString("25%")
	d.Spec = v1alpha1.MachineDeploymentSpec{
		Replicas: 9, MinReadySeconds: 61, Paused: true, RevisionHistoryLimit: ptr.To[int32](10), ProgressDeadlineSeconds: ptr.To[int32](600),
		RollbackTo: &v1alpha1.RollbackConfig{Revision: 2},
		Strategy: v1alpha1.MachineDeploymentStrategy{
			Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{
				UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: &three, MaxUnavailable: &quarter},
			},
		},
	}
	d.Status = v1alpha1.MachineDeploymentStatus{
		Replicas: 8, UpdatedReplicas: 5, ReadyReplicas: 6, AvailableReplicas: 7, UnavailableReplicas: 2, CollisionCount: ptr.To[int32](1),
		Conditions: []v1alpha1.MachineDeploymentCondition{
			{Type: "Available", Status: v1alpha1.ConditionTrue},
			{Type: "Progressing", Status: v1alpha1.ConditionUnknown},
			{Type: "ReplicaFailure", Status: v1alpha1.ConditionFalse},
		},
		FailedMachines: []*v1alpha1.MachineSummary{&failedMachine, nil},
	}
	return d
}

// bareDeployments have no more than they must, and nothing that is optional: one of each strategy, and one whose strategy
// lacks its block.
func bareDeployments() []client.Object {
	recreate, inPlace, bare := &v1alpha1.MachineDeployment{}, &v1alpha1.MachineDeployment{}, &v1alpha1.MachineDeployment{}
	recreate.ObjectMeta, inPlace.ObjectMeta, bare.ObjectMeta = meta("recreate"), meta("in-place"), meta("bare")
	one := intstr.FromInt32(1)
	recreate.Spec.Strategy.Type = v1alpha1.RecreateMachineDeploymentStrategyType
	inPlace.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{
		Type: v1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
		InPlaceUpdate: &v1alpha1.InPlaceUpdateMachineDeployment{
			UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: &one, MaxUnavailable: &one},
		},
	}
	bare.Spec.Strategy.Type = v1alpha1.RollingUpdateMachineDeploymentStrategyType
	return []client.Object{recreate, inPlace, bare}
}

// Section 7.1 of the Gardener notes, as far as it is about objects.
func TestGardenerGroupTable(t *testing.T) {
	const (
		set, deployment   = "mcm_machine_set_", "mcm_machine_deployment_"
		group, program    = "name,namespace", "machine-controller-manager"
		failedLabels      = group + ",failed_machine_name,failed_machine_provider_id,failed_machine_owner_ref,failed_machine_last_operation_state,failed_machine_last_operation_machine_operation_type"
		spec, status      = deployment + "info_spec_", deployment + "status_"
		onlyOptional      = "left out where the object does not have it"
		failedSet         = "s-1,ns,m-9,id-9,s-1,Failed,Create"
		failedDeployment  = "d-1,ns,m-9,id-9,s-1,Failed,Create"
		onlyRollingUpdate = "only with RollingUpdate, and its block"
	)
	all := func(value, others float64) map[string]float64 {
		return map[string]float64{"d-1,ns": value, "recreate,ns": others, "in-place,ns": others, "bare,ns": others}
	}
	one := func(value float64) map[string]float64 { return map[string]float64{"d-1,ns": value} }
	rows := []row{
		{set + "items_total", gauge, "", map[string]float64{"": 1}, "the number of sets"},
		{
			set + "info", gauge, group + ",createdAt,spec_machine_class_api_group,spec_machine_class_kind,spec_machine_class_name",
			map[string]float64{"s-1,ns," + bornText + ",machine.sapcloud.io,MachineClass,pool": 1},
			"the class of the set, not that of its template",
		},
		{set + "info_spec_replicas", gauge, group, map[string]float64{"s-1,ns": 7}, "spec.replicas"},
		{set + "info_spec_min_ready_seconds", gauge, group, map[string]float64{"s-1,ns": 60}, "spec.minReadySeconds"},
		{
			set + "status_condition", gauge, group + ",condition",
			map[string]float64{"s-1,ns,Frozen": 1, "s-1,ns,ReplicaFailure": 0, "s-1,ns,Odd": 2},
			"1, 0 and 2; of a type that is there twice the first counts",
		},
		{set + "failed_machines", gauge, failedLabels, map[string]float64{failedSet: 1}, "one series, although the status names the machine twice"},
		{set + "status_available_replicas", gauge, group, map[string]float64{"s-1,ns": 3}, "status.availableReplicas"},
		{set + "status_fully_labelled_replicas", gauge, group, map[string]float64{"s-1,ns": 5}, "status.fullyLabeledReplicas, spelt as the original does"},
		{set + "status_ready_replicas", gauge, group, map[string]float64{"s-1,ns": 4}, "status.readyReplicas"},
		{set + "status_replicas", gauge, group, map[string]float64{"s-1,ns": 6}, "status.replicas, which the original takes from readyReplicas"},
		{deployment + "items_total", gauge, "", map[string]float64{"": 4}, "the number of deployments"},
		{
			deployment + "info", gauge, group + ",createdAt,spec_strategy_type", map[string]float64{
				"d-1,ns," + bornText + ",RollingUpdate": 1, "bare,ns," + bornText + ",RollingUpdate": 1,
				"recreate,ns," + bornText + ",Recreate": 1, "in-place,ns," + bornText + ",InPlaceUpdate": 1,
			}, "one for each",
		},
		{spec + "paused", gauge, group, all(1, 0), "0 where it is not paused"},
		{spec + "replicas", gauge, group, all(9, 0), "spec.replicas"},
		{spec + "min_ready_seconds", gauge, group, all(61, 0), "spec.minReadySeconds"},
		{spec + "rolling_update_max_surge", gauge, group, one(3), onlyRollingUpdate},
		{spec + "rolling_update_max_unavailable", gauge, group, one(0), onlyRollingUpdate + "; a percentage is 0, as in the original"},
		{spec + "revision_history_limit", gauge, group, one(10), onlyOptional},
		{spec + "progress_deadline_seconds", gauge, group, one(600), onlyOptional},
		{spec + "rollback_to_revision", gauge, group, one(2), onlyOptional},
		{
			status + "condition", gauge, group + ",condition",
			map[string]float64{"d-1,ns,Available": 1, "d-1,ns,Progressing": 2, "d-1,ns,ReplicaFailure": 0},
			"1, 0 and 2",
		},
		{status + "available_replicas", gauge, group, all(7, 0), "status.availableReplicas"},
		{status + "unavailable_replicas", gauge, group, all(2, 0), "status.unavailableReplicas"},
		{status + "ready_replicas", gauge, group, all(6, 0), "status.readyReplicas"},
		{status + "updated_replicas", gauge, group, all(5, 0), "status.updatedReplicas"},
		{status + "collision_count", gauge, group, one(1), onlyOptional},
		{status + "replicas", gauge, group, all(8, 0), "status.replicas"},
		{deployment + "failed_machines", gauge, failedLabels, map[string]float64{failedDeployment: 1}, "as of the set"},
		{
			"mcm_misc_scrape_failure_total", counter, "kind,binary",
			map[string]float64{"Machinedeployment-count," + program: 0, "Machineset-count," + program: 0},
			"nothing failed",
		},
	}
	objects := append(bareDeployments(), gardenerSet(), gardenerDeployment())
	compare(t, shown(t, reader(t, objects...), statemetrics.GardenerMachineSets(), statemetrics.GardenerMachineDeployments()), rows)
}

func gardenerMachine(name string, phase v1alpha1.MachinePhase) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: meta(name)}
	m.Status.CurrentStatus.Phase = phase
	return m
}

// Section 7.2 of the Gardener notes, as far as it is about objects.
func TestGardenerMachineTable(t *testing.T) {
	phases := map[string]float64{
		"Terminating": -4, "Failed": -3, "CrashLoopBackOff": -2, "Unknown": -1, "Pending": 0, "Running": 1,
		"": 0, "Available": 0, "InPlaceUpdating": 0, "InPlaceUpdateSuccessful": 0, "InPlaceUpdateFailed": 0,
	}
	var objects []client.Object
	byPhase, info := map[string]float64{}, map[string]float64{}
	for i, phase := range slices.Sorted(maps.Keys(phases)) {
		name := fmt.Sprintf("m-%d", i)
		objects = append(objects, gardenerMachine(name, v1alpha1.MachinePhase(phase)))
		byPhase[name+",ns"] = phases[phase]
		info[name+",ns,"+bornText+",,,,,"] = 1
	}
	full := gardenerMachine("full", v1alpha1.MachineRunning)
	full.Labels = map[string]string{"node": "node-1"}
	full.Spec.ProviderID = "id-1"
	full.Spec.Class = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool"}
	full.Status.Conditions = []corev1.NodeCondition{
		{Type: "Ready", Status: corev1.ConditionTrue}, {Type: "DiskPressure", Status: corev1.ConditionFalse}, {Type: "KernelDeadlock", Status: corev1.ConditionUnknown},
	}
	byPhase["full,ns"], info["full,ns,"+bornText+",id-1,machine.sapcloud.io,MachineClass,pool,node-1"] = 1, 1
	rows := []row{
		{"mcm_machine_items_total", gauge, "", map[string]float64{"": float64(len(phases) + 1)}, "the number of machines"},
		{"mcm_machine_current_status_phase", gauge, "name,namespace", byPhase, "phases without a number of their own are 0"},
		{
			"mcm_machine_info", gauge, "name,namespace,createdAt,spec_provider_id,spec_class_api_group,spec_class_kind,spec_class_name,node_name",
			info, "what is not there yet is an empty label",
		},
		{
			"mcm_machine_status_condition", gauge, "name,namespace,condition",
			map[string]float64{"full,ns,Ready": 1, "full,ns,DiskPressure": 0, "full,ns,KernelDeadlock": 2},
			"a machine without conditions has none",
		},
		{
			"mcm_misc_scrape_failure_total", counter, "kind,binary",
			map[string]float64{"Machine-count,machine-controller-manager-provider": 0},
			"nothing failed",
		},
	}
	compare(t, shown(t, reader(t, append(objects, full)...), statemetrics.GardenerMachines()), rows)
}

// everything are the kinds that there are.
func everything() []statemetrics.Kind {
	return []statemetrics.Kind{
		statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets(),
		statemetrics.GardenerMachines(), statemetrics.GardenerMachineSets(), statemetrics.GardenerMachineDeployments(),
	}
}

// TestNothingLeaks: when an object goes, or changes what its labels say, the series of before go with the next scrape.
func TestNothingLeaks(t *testing.T) {
	full := gardenerMachine("m-1", v1alpha1.MachineRunning)
	full.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: corev1.ConditionTrue}}
	objects := append(openshiftObjects(), gardenerSet(), gardenerDeployment(), full)
	r := reader(t, objects...)
	c := statemetrics.New(statemetrics.Options{Reader: r, Kinds: everything()})
	before := gathered(t, c)
	full.Spec.ProviderID = "id-1"
	if err := r.Update(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if n := len(gathered(t, c)["mcm_machine_info"].GetMetric()); n != 1 {
		t.Errorf("a machine that got its provider ID has %d series of mcm_machine_info, want 1", n)
	}
	for _, o := range objects {
		if err := r.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	after := gathered(t, c)
	kept := []string{
		"mapi_machine_items", "mapi_machineset_items", "mapi_mao_collector_up", "mcm_machine_deployment_items_total",
		"mcm_machine_items_total", "mcm_machine_set_items_total", "mcm_misc_scrape_failure_total",
	}
	if got := slices.Sorted(maps.Keys(after)); !slices.Equal(got, kept) {
		t.Errorf("without objects there are %v, want %v", got, kept)
	}
	if len(before) <= len(kept) {
		t.Errorf("with objects there are no more families: %v", slices.Sorted(maps.Keys(before)))
	}
	for _, name := range kept {
		if !strings.Contains(name, "_items") {
			continue
		}
		if got := read(t, after[name], ""); !maps.Equal(got, map[string]float64{"": 0}) {
			t.Errorf("%s is %v without objects", name, got)
		}
	}
}

// TestFailedReading: a kind that cannot be read is reported as the original of each API does, and the
// others are shown.
func TestFailedReading(t *testing.T) {
	broken := map[string]bool{"*v1beta1.MachineList": true, "*v1alpha1.MachineSetList": true}
	r := interceptor.NewClient(reader(t, append(openshiftObjects(), gardenerSet())...), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if broken[fmt.Sprintf("%T", list)] {
				return errors.New("the cache is not started")
			}
			return c.List(ctx, list, opts...)
		},
	})
	c := statemetrics.New(statemetrics.Options{Reader: r, Kinds: everything()})
	gathered(t, c)
	second := gathered(t, c)
	up := map[string]float64{"mapi_machine_items": 0, "mapi_machineset_items": 1}
	if got := read(t, second["mapi_mao_collector_up"], "kind"); !maps.Equal(got, up) {
		t.Errorf("mapi_mao_collector_up is %v, want %v", got, up)
	}
	failures := map[string]float64{
		"Machine-count,machine-controller-manager-provider": 0, "Machineset-count,machine-controller-manager": 2, "Machinedeployment-count,machine-controller-manager": 0,
	}
	if got := read(t, second["mcm_misc_scrape_failure_total"], "kind,binary"); !maps.Equal(got, failures) {
		t.Errorf("after two scrapes mcm_misc_scrape_failure_total is %v, want %v", got, failures)
	}
	if second["mapi_machine_items"] != nil || second["mcm_machine_set_items_total"] != nil {
		t.Error("what could not be read is shown all the same")
	}
	if second["mapi_machineset_items"] == nil || second["mcm_machine_items_total"] == nil {
		t.Error("what can be read is not shown")
	}
	clear(broken)
	if got := read(t, gathered(t, c)["mapi_mao_collector_up"], "kind")["mapi_machine_items"]; got != 1 {
		t.Errorf("readable again, mapi_mao_collector_up is %v", got)
	}
}

// TestSlowReading: a cache that does not fill lets the scrape fail in time.
func TestSlowReading(t *testing.T) {
	r := interceptor.NewClient(reader(t), interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			<-ctx.Done()
			return ctx.Err()
		},
	})
	c := statemetrics.New(statemetrics.Options{Reader: r, Kinds: everything(), Timeout: time.Millisecond})
	if got := read(t, gathered(t, c)["mapi_mao_collector_up"], "kind")["mapi_machine_items"]; got != 0 {
		t.Errorf("mapi_mao_collector_up is %v", got)
	}
}

// TestOnlyTheLeaderShows: the series are in the registry while the collector runs, which is while the process leads.
func TestOnlyTheLeaderShows(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := statemetrics.New(statemetrics.Options{Reader: reader(t), Kinds: everything(), Registry: registry})
	if !c.NeedLeaderElection() {
		t.Error("a standby shows objects")
	}
	families := func() int {
		all, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := families(); n != 0 {
		t.Errorf("%d families before it runs", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); families() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is shown")
		}
	}
	again := statemetrics.New(statemetrics.Options{Reader: reader(t), Kinds: everything(), Registry: registry})
	if err := again.Start(ctx); err == nil {
		t.Error("two collectors of the same kinds are taken")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := families(); n != 0 {
		t.Errorf("%d families after it ended", n)
	}
}
