package rehearsal

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// kills: `make test-killed` kills the machine controller at each of its writes and calls.
var (
	kills = flag.Int("rehearsal.kills", 1, "up to which of its writes, and of its calls that change something, the machine controller is killed")
	twice = flag.Bool("rehearsal.twice", false, "kill the next process, too, at its first write, or its first call that changes something")
)

// scarcity is a cloud that refuses the best choice of a class, so that the controller requests an instance twice for each
// machine. The cloud refuses immediately: if it accepted the request and the instance then failed, a machine of
// machine.openshift.io would stay Failed.
type scarcity struct {
	// inventory is the difference between the simulator's inventory and its sample.
	inventory string
	// verbs are the verbs that exhaust the best choice: "exhaust?on=us-east-1a". restock are the verbs that restore its
	// capacity; empty if the simulator has none.
	verbs, restock []string
	// lag is the delay of listings in the time of the cloud, which passes four times as fast as real time. It is empty if the
	// cloud has no delay.
	lag string
	// zone is the zone for the sample of machine.openshift.io if the sample names none.
	zone string
	// fallback are the patches of the specs that select a place with capacity, by API.
	fallback map[string]string
}

// scarce are the clouds of this test.
var scarce = map[string]scarcity{
	"alicloud": {
		verbs: []string{"exhaust?on=cn-hangzhou-h/ecs.g7.large"}, restock: []string{"restock?on=cn-hangzhou-h/ecs.g7.large"}, lag: "20s",
		fallback: map[string]string{
			openShiftAPI: `{"zoneId": "cn-hangzhou-i", "vSwitch": {"tags": [{"Key": "Name", "Value": "c1-i"}]}}`,
			gardenerAPI:  `{"zoneID": "cn-hangzhou-i", "vSwitchID": "vsw-bp1example0000000000i"}`,
		},
	},
	"aws": {
		verbs: []string{"exhaust?on=us-east-1a/m5.large"}, restock: []string{"restock?on=us-east-1a/m5.large"}, lag: "20s",
		fallback: map[string]string{
			openShiftAPI: `{"placement": {"availabilityZone": "us-east-1b"}, "subnet": {"filters": [{"name": "tag:Name", "values": ["c1-private-us-east-1b"]}]}}`,
			gardenerAPI:  `{"networkInterfaces": [{"subnetID": "subnet-0b00000000000000b", "securityGroupIDs": ["sg-0fedcba9876543210"]}]}`,
		},
	},
	"azure": {
		inventory: `sizes: [{name: Standard_D4s_v3, family: standardDSv3Family, vcpus: 4, memoryGB: 16, zones: ["2", "3"]}]`,
		lag:       "20s",
		fallback:  map[string]string{openShiftAPI: `{"zone": "2"}`, gardenerAPI: `{"properties": {"zone": 2}}`},
	},
	"gcp": {
		inventory: `machineTypes: [{name: n2-standard-4, vcpus: 4, memoryMiB: 16384, zones: [us-east1-c, europe-west1-c]}]`,
		lag:       "20s",
		fallback:  map[string]string{openShiftAPI: `{"zone": "us-east1-c"}`, gardenerAPI: `{"zone": "europe-west1-c"}`},
	},
	"ibmcloud": { // VPC refuses only quotas at once: here those of GPUs, which the sample's profile has
		inventory: `{profiles: [{name: bx2-4x16, vcpus: 4, memoryGiB: 16, architecture: amd64, gpus: 2, gpu: nvidia}, {name: bx2-8x32, vcpus: 8, memoryGiB: 32, architecture: amd64}], quotas: {gpus: 1}}`,
		lag:       "10s",
		fallback:  map[string]string{openShiftAPI: `{"profile": "bx2-8x32"}`},
	},
	"nutanix": {
		verbs: []string{"exhaust?on=cluster-a/now"}, restock: []string{"restock?on=cluster-a/now"}, lag: "20s",
		fallback: map[string]string{openShiftAPI: `{"cluster": {"name": "cluster-b"}, "subnets": [{"type": "name", "name": "machines-b"}]}`},
	},
	"openstack": {
		verbs: []string{"close?on=nova"}, restock: []string{"open?on=nova"}, lag: "10s", zone: "nova",
		fallback: map[string]string{openShiftAPI: `{"availabilityZone": "az-2"}`, gardenerAPI: `{"spec": {"availabilityZone": "az-2"}}`},
	},
	"vsphere": {
		verbs: []string{"exhaust?on=ds1"}, restock: []string{"restock?on=ds1"},
		fallback: map[string]string{openShiftAPI: `{"workspace": {"datastore": "/dc1/datastore/ds2"}}`, gardenerAPI: `{"datastore": "ds2"}`},
	},
	"yandex": {
		verbs: []string{"exhaust?on=ru-central1-a/standard-v3"}, restock: []string{"restock?on=ru-central1-a/standard-v3"}, lag: "10s",
		fallback: map[string]string{gardenerAPI: `{"zoneID": "ru-central1-b", "networkInterfaceSpecs": [{"subnetID": "e2lexample0000000001"}]}`},
	},
}

// The APIs, as in the objects.
const (
	openShiftAPI = "machine.openshift.io/v1beta1"
	gardenerAPI  = "machine.sapcloud.io/v1alpha1"
)

// TestSafetyKilledAtEachStep kills the machine controller with SIGKILL after each of its steps: after the API server has
// executed its first, second, ... write for a machine, and after the cloud has executed the first, second, ... call that
// changes a resource. The answer is withheld until the process has ended. Each step is tested once during the creation of the
// machine, and once during its deletion. The best choice of the class has no capacity. The simulator shows whether the machine
// ever had two instances, and what is left at the end.
func TestSafetyKilledAtEachStep(t *testing.T) {
	for _, cloud := range slices.Sorted(maps.Keys(scarce)) {
		if !asked(*provider, cloud) {
			continue
		}
		t.Run(cloud, func(t *testing.T) {
			buildCloud(t, cloud)
			k := &killing{scarcity: scarce[cloud]}
			t.Cleanup(func() { k.gate.end() }) // after the fleet has ended, because it ends through the gate
			// The collector runs too late to remove leftovers of a deletion.
			k.story = start(t, fleet.CloudOptions{Provider: cloud, Inventory: k.written(t)}, "--machine-safety-orphan-vms-period=24h")
			k.prepare()
			for _, p := range k.pools {
				k.each(p, "write", k.gate)
				k.each(p, "call", &calls{story: k.story})
			}
		})
	}
}

// killing is a fleet whose machine controller is killed.
type killing struct {
	*story
	scarcity
	gate *gate
}

// written returns the file of the inventory. It is empty for the inventory of the sample.
func (s scarcity) written(t *testing.T) string {
	t.Helper()
	if s.inventory == "" {
		return ""
	}
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, []byte(s.inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// interceptor withholds the answer to one request of the machine controller after the request was executed.
type interceptor interface {
	// set selects the n-th request from now, or no request for 0.
	set(n int)
	// hit reports whether a request has no answer.
	hit() bool
	// what returns that request, after the controller has ended.
	what() string
}

// prepare leads the machine controller through a gate, creates pools without machines, and exhausts their best choice.
func (k *killing) prepare() {
	k.t.Helper()
	program := "machine-controller-" + k.cloud
	var err error
	if k.gate, err = newGate(k.fleet.Kubeconfig(program)); err != nil {
		k.t.Fatal(err)
	}
	k.crash()
	all := k.samples()
	for _, o := range all {
		set := openShift(o) && o.GetKind() == "MachineSet"
		if set || o.GetKind() == "MachineClass" {
			o.SetAnnotations(map[string]string{millwright.Fallback: "[" + k.fallback[o.GetAPIVersion()] + "]"})
		}
		if set && k.zone != "" {
			if err := unstructured.SetNestedField(o.Object, k.zone, "spec", "template", "spec", "providerSpec", "value", "availabilityZone"); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	k.apply(0, false, all)
	k.until("the class has its secrets", func() string {
		for _, o := range all {
			if o.GetKind() == "MachineClass" {
				return k.unheld(o, "secretRef") + k.unheld(o, "credentialsSecretRef")
			}
		}
		return "" // the cloud has no sample of machine.sapcloud.io
	})
	k.do(k.verbs)
	k.lags(k.lag)
}

func (k *killing) do(verbs []string) {
	k.t.Helper()
	for _, verb := range verbs {
		k.post("do/" + verb)
	}
}

// lags sets the delay of listings, if the cloud has one.
func (k *killing) lags(by string) {
	k.t.Helper()
	if k.lag != "" {
		k.post("do/lag?on=" + query(by))
	}
}

// unheld returns the secret of a class that has no finalizer yet. A write of the controller for the class alone is no step of a
// machine.
func (k *killing) unheld(class *unstructured.Unstructured, field string) string {
	k.t.Helper()
	ref := class.Object[field].(map[string]any)
	secret := &corev1.Secret{}
	if err := k.fleet.Client.Get(k.t.Context(), client.ObjectKey{Namespace: ref["namespace"].(string), Name: ref["name"].(string)}, secret); err != nil {
		k.t.Fatal(err)
	}
	if len(secret.Finalizers) == 0 {
		return secret.Name + " has no finalizer "
	}
	return ""
}

// each creates and deletes a machine of a pool for each step, until there are no more steps.
func (k *killing) each(p *pool, step string, at interceptor) {
	k.t.Helper()
	began, made, gone, name := time.Now(), 0, 0, apiOf(p)+"-"+step
	if !asked(*chapters, name) {
		return
	}
	for n := 1; n <= *kills; n++ {
		k.chapter = fmt.Sprintf("%s %d", name, n)
		created := k.killedAt(p, 1, n, at)
		k.askedTwice(p)
		deleted := k.killedAt(p, 0, n, at)
		if !deleted {
			k.crash() // the new process does not know of the shortage
		}
		if !created && !deleted {
			break
		}
		made, gone = made+count(created), gone+count(deleted)
	}
	k.t.Logf("%s: killed at %d of a creation and at %d of a deletion, %.0f s", name, made, gone, time.Since(began).Seconds())
}

func count(happened bool) int {
	if happened {
		return 1
	}
	return 0
}

// apiOf returns a word for the API of a pool.
func apiOf(p *pool) string {
	if openShift(p.Unstructured) {
		return "openshift"
	}
	return "gardener"
}

// killedAt scales a pool, kills the machine controller at the n-th step, and waits until the fleet rests. It returns false if
// there were fewer steps.
func (k *killing) killedAt(p *pool, replicas, n int, at interceptor) (killed bool) {
	k.t.Helper()
	began, chapter := time.Now(), k.chapter
	k.chapter = fmt.Sprintf("%s, scaled to %d", chapter, replicas)
	_, call := at.(*calls)
	if lag := k.lag; call && replicas == 0 { // with a delay, the controller would repeat the termination of an instance, and never reach the later calls
		k.lags("0s")
		defer k.lags(lag)
	}
	at.set(n)
	k.scale(p, replicas)
	k.until("the machine controller reaches that step, or the fleet rests", func() string {
		if at.hit() {
			return ""
		}
		return k.wrong()
	})
	time.Sleep(time.Second / 2) // writes after the creation of a machine
	if killed = at.hit(); killed {
		if replicas > 0 {
			k.restockBestChoice(p)
		}
		k.crash()
		k.chapter += ", killed at " + at.what()
		if *twice {
			k.killedAgain(at)
		}
		if call && replicas > 0 {
			k.hideListings()
		}
	}
	at.set(0)
	k.until("the fleet rests", func() string {
		run := k.run()
		if why := checker.Wrong(run, checker.OneInstance); why != "" {
			k.t.Fatalf("%s: %s", k.chapter, why)
		}
		return checker.Wrong(run, checker.Rest)
	})
	k.do(k.verbs)
	k.t.Logf("%s: %.1f s", k.chapter, time.Since(began).Seconds())
	k.chapter = chapter
	return killed
}

// killedAgain kills the process that has taken over at its first step, if it has one.
func (k *killing) killedAgain(at interceptor) {
	k.t.Helper()
	at.set(1)
	k.until("the next process comes to its first step, or the fleet rests", func() string {
		if at.hit() {
			return ""
		}
		return k.wrong()
	})
	if at.hit() {
		k.crash()
		k.chapter += ", and again at " + at.what()
	}
}

// restockBestChoice restores the capacity of the best choice after the controller has requested another choice. A process
// without a record would now choose differently.
func (k *killing) restockBestChoice(p *pool) {
	k.t.Helper()
	for _, m := range k.of(p) {
		if strings.Contains(k.record(m), `\"n\":2`) {
			k.do(k.restock)
		}
	}
}

// hiddenFor is how long the next process does not see new instances. It is longer than the start of the process, and its wait of
// up to 22 s before it repeats a request.
const hiddenFor = 35 * time.Second

// hideListings hides new instances from listings for longer than the providers assume. Only the repeated request can then find
// the instance.
func (k *killing) hideListings() {
	k.t.Helper()
	if k.lag == "" {
		return
	}
	k.lags("1h")
	began := time.Now()
	k.until("the next process has asked again", func() string {
		if time.Since(began) < hiddenFor {
			return "it may still be waiting"
		}
		return ""
	})
	k.lags(k.lag)
}

// record returns the status of a machine, which stores its requests.
func (k *killing) record(m fleet.Machine) string {
	k.t.Helper()
	o := k.object(m)
	if err := k.fleet.Client.Get(k.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		k.t.Fatal(err)
	}
	raw, err := json.Marshal(o.Object["status"])
	if err != nil {
		k.t.Fatal(err)
	}
	return string(raw)
}

// askedTwice checks that the machine of a pool stores that the best choice was refused, and that another was requested.
func (k *killing) askedTwice(p *pool) {
	k.t.Helper()
	for _, m := range k.of(p) {
		record := k.record(m)
		if !strings.Contains(record, `\"closed\":\"Exhausted\"`) || !strings.Contains(record, `\"n\":2`) {
			k.t.Errorf("%s: machine %s does not record two requests for its instance: %s", k.chapter, m.Name, record)
		}
	}
}
