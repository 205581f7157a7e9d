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

// Verbs implements [double.Inspected].
func (*Cloud) Verbs() []double.Verb {
	all := []double.Verb{
		{Name: "terminate", On: onHost + ": another client deletes the object at once"},
		{Name: "delete", On: onHost + ": another client deletes it, and it is deprovisioned first"},
		{Name: "stop", On: onHost},
		{Name: "start", On: onHost},
		{Name: "pause", On: onHost + ": the baremetal-operator does nothing to it any more"},
		{Name: "resume", On: onHost},
		{Name: "mend", On: onHost + ": it has no errors any more"},
		{Name: "lag", On: "a duration: lists lag by it"},
	}
	for _, verb := range slices.Sorted(maps.Keys(breaks)) {
		all = append(all, double.Verb{Name: verb, On: onHost + ": it has a " + string(breaks[verb])})
	}
	return all
}

var errNoHost = errors.New("there is no such host")

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) (err error) {
	if verb == "lag" {
		d, err := time.ParseDuration(on)
		c.SetLag(d)
		return err
	}
	c.While(func(now time.Time) { err = c.do(verb, on, now) })
	return err
}

func (c *controller) do(verb, on string, now time.Time) error {
	var o object
	for _, h := range c.Of(hostKind) {
		if o == nil && (id(h) == on || h.Name() == on || h.UID() == on) {
			o = h
		}
	}
	if o == nil {
		return errNoHost
	}
	merge := map[string]any{}
	note := func(key string, value any) {
		merge["metadata"] = map[string]any{"annotations": map[string]any{key: value}}
	}
	kind, breaks := breaks[verb]
	switch {
	case breaks:
		note(host.BreakAnnotation, string(kind))
	case verb == "mend":
		note(host.BreakAnnotation, nil)
	case verb == "pause":
		note(metal3.PausedAnnotation, "")
	case verb == "resume":
		note(metal3.PausedAnnotation, nil)
	case verb == "stop", verb == "start":
		merge["spec"] = map[string]any{"online": verb == "start"}
	case verb == "terminate":
		c.Bury(o)
		return nil
	case verb == "delete":
		c.Delete(o, now)
		return nil
	default:
		return fmt.Errorf("no verb %q", verb)
	}
	return c.Merge(hosts, o.Namespace(), o.Name(), merge)
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
