package metal3

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// id is the name of a host, with its namespace.
func id(o object) string { return o.Namespace() + "/" + o.Name() }

// Instances implements [double.Inspected]: hosts with a consumer. Free hosts are not instances.
func (c *Cloud) Instances() (all []double.Listed) {
	c.While(func(time.Time) { all = c.instances() })
	return all
}

func (c *controller) instances() (all []double.Listed) {
	for _, o := range c.consumed() {
		l := double.Listed{
			ID: id(o), Name: o.Text("spec", "consumerRef", "name"), State: o.Text("status", "provisioning", "state"), Account: o.Namespace(),
			Tags: o.Texts("metadata", "labels"),
		}
		if on, _ := o.At("status", "poweredOn").(bool); !on {
			l.State += ", off"
		}
		l.State = cmp.Or(o.Text("status", "errorType"), l.State)
		maps.Copy(l.Tags, o.Texts("metadata", "annotations"))
		for _, s := range c.Of("Secret") {
			if slices.Contains(s.Owners(), o.UID()) {
				l.Dependants = append(l.Dependants, "Secret "+s.Name())
			}
		}
		all = append(all, l)
	}
	return all
}

// Secret is a secret with user data.
type Secret struct {
	Name, Namespace string
	Labels          map[string]string
}

// Secrets are all secrets.
func (c *Cloud) Secrets() (all []Secret) {
	c.While(func(time.Time) {
		for _, s := range c.controller.Of("Secret") {
			all = append(all, Secret{s.Name(), s.Namespace(), s.Texts("metadata", "labels")})
		}
	})
	return all
}

// Orphans implements [double.Inspected]: secrets without a host that has a consumer.
func (c *Cloud) Orphans() (all []string) {
	c.While(func(time.Time) {
		for _, s := range c.controller.Of("Secret") {
			if !slices.ContainsFunc(c.consumed(), func(o object) bool { return slices.Contains(s.Owners(), o.UID()) }) {
				all = append(all, "Secret "+s.Name())
			}
		}
	})
	return all
}

// breaks are the verbs that break a host, with the errors.
var breaks = map[string]metal3.ErrorType{
	"fail":               metal3.ProvisioningError,
	"break-registration": metal3.RegistrationError,
	"break-inspection":   metal3.InspectionError,
	"break-preparation":  metal3.PreparationError,
	"break-power":        metal3.PowerManagementError,
	"break-detach":       metal3.DetachError,
	"break-servicing":    metal3.ServicingError,
}

const onHost = "a host's name"

var errNoHost = errors.New("there is no such host")

func (c *Cloud) controls() double.Controls {
	onHosts := double.OnInstance(c.Exclusive(), func(name string) (object, bool) {
		all := c.controller.Of(hostKind)
		n := slices.IndexFunc(all, func(o object) bool { return id(o) == name || o.Name() == name || o.UID() == name })
		if n < 0 {
			return nil, false
		}
		return all[n], true
	})
	merge := func(patch map[string]any) func(string) error {
		return onHosts(func(o object) error { return c.controller.Merge(hosts, o.Namespace(), o.Name(), patch) })
	}
	note := func(key string, value any) func(string) error {
		return merge(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	}
	online := func(on bool) func(string) error { return merge(map[string]any{"spec": map[string]any{"online": on}}) }
	all := double.Controls{
		{Name: "terminate", On: onHost + ": another client deletes the object at once", Do: onHosts(func(o object) error { c.controller.Bury(o); return nil })},
		{Name: "delete", On: onHost + ": another client deletes it, and it is deprovisioned first", Do: onHosts(func(o object) error { c.controller.Delete(o, c.controller.Clock.Now()); return nil })},
		{Name: "stop", On: onHost, Do: online(false)},
		{Name: "start", On: onHost, Do: online(true)},
		{Name: "pause", On: onHost + ": the baremetal-operator does nothing to it any more", Do: note(metal3.PausedAnnotation, "")},
		{Name: "resume", On: onHost, Do: note(metal3.PausedAnnotation, nil)},
		{Name: "mend", On: onHost + ": it has no errors any more", Do: note(host.BreakAnnotation, nil)},
		c.LagVerb(),
	}
	for _, verb := range slices.Sorted(maps.Keys(breaks)) {
		all = append(all, double.Verb{Name: verb, On: onHost + ": it has a " + string(breaks[verb]), Do: note(host.BreakAnnotation, string(breaks[verb]))})
	}
	return all
}

// Planted is a running host of another machine.
type Planted struct {
	// Name is the prefix of its name.
	Name, Namespace     string
	Labels, Annotations map[string]string
	// Consumer is its consumerRef.
	Consumer map[string]any
	// ExternallyProvisioned: another system has written its disk.
	ExternallyProvisioned bool
}

// Plant turns a free host into such a host, and returns its name.
func (c *Cloud) Plant(p Planted) (name string) {
	c.While(func(now time.Time) { name = c.plant(p, now) })
	return name
}

func (c *controller) plant(p Planted, now time.Time) string {
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(p.Name, ".", "-"), c.made)
	o := c.add(p.Namespace, name, Hosts{CPUs: 8, MemoryMiB: 32768, Labels: p.Labels, ExternallyProvisioned: p.ExternallyProvisioned}).Clone()
	image := map[string]any{"url": "http://images.example.com/rhcos.qcow2", "checksum": "0123"}
	o.Set(kubeapi.Any(p.Annotations), "metadata", "annotations")
	o.Set(p.Consumer, "spec", "consumerRef")
	o.Set(true, "spec", "online")
	o.Set(true, "status", "poweredOn")
	o.Set(kubeapi.Stamp(now), "status", "lastUpdated")
	if !p.ExternallyProvisioned {
		o.Set(image, "spec", "image")
		o.Set(image, "status", "provisioning", "image")
		o.Set(string(metal3.StateProvisioned), "status", "provisioning", "state")
	}
	c.Keep(c.Named(hosts), o)
	return name
}
