package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
)

// misdirectionProfile makes controllers look in the wrong place, or gives them a false answer there. Most worlds have no
// misdirection.
type misdirectionProfile struct {
	// scopes: users edit the labels that name the cluster and region of a machine's instance. unnamed: after users remove such a
	// label, nothing else names the place.
	scopes, unnamed bool
	// edits: users edit, delete and recreate specs and classes, and for some time the cloud accepts no spec.
	edits bool
	// accounts: for some time the credentials open another account, which has a name. blank: for some time the cloud, which names
	// no accounts, hides instances whose nodes are ready.
	accounts, blank bool
	// neighbours: another control plane, and another namespace of this one, have instances in the same place, for machines with
	// the same names.
	neighbours bool
	// odd: nodes have other names than machines, and spell their provider IDs in other ways. The cloud reuses addresses as soon
	// as they are free.
	odd bool
}

// misdirectionSource is the source of random numbers of this profile alone.
const misdirectionSource = widerSource + 0xdece17

func (d *misdirectionProfile) draw(r *rand.Rand) {
	if r.IntN(5) < 3 {
		return
	}
	some := func() bool { return r.IntN(5) < 2 }
	*d = misdirectionProfile{scopes: some(), unnamed: some(), edits: some(), accounts: some(), blank: some(), neighbours: some(), odd: some()}
	d.blank = d.blank && !d.accounts
}

// drawMisdirection draws the profile.
func (c *profile) drawMisdirection(r *rand.Rand) {
	c.misdirectionProfile.draw(r)
	c.settle()
}

// settle adapts the rest of a world.
func (c *profile) settle() {
	c.settleNamespaceDeletion()
	c.settleRecreation()
	c.settleHollow()
	c.settleDisruptions()
	if c.scopes || c.edits || c.accounts || c.blank || c.neighbours {
		c.trouble = max(c.trouble, 4)
	}
	if c.hostile {
		c.trouble, c.cloud.Unforetold = max(c.trouble, 4), c.unforetold
	}
	if c.certified {
		// A process whose clock is an hour behind creates tokens that have expired, and cannot notice that.
		c.trouble, c.tokens = max(c.trouble, 3), !c.clockwork.set
	}
	c.cloud.Named = c.accounts
	if c.odd {
		c.cloud.Hosts, c.cloud.Scarce = !c.cloud.Unique, true // if names are unique, nodes have the names of machines
	}
	if c.versions {
		// The earlier version handles edited labels wrongly.
		c.scopes, c.accounts, c.cloud.Named = false, false, false
		c.trouble = max(c.trouble, 4)
	}
	if c.blank {
		// Otherwise a node may fall silent in the middle of a pass that got a false answer.
		c.pausePercent = 0
	}
}

// home is the place of this cluster's instances by default.
var home = cloud.Place{Account: cloud.MainAccount, Cluster: clusterName}

const (
	// otherAccount is the account that wrong credentials open.
	otherAccount = "other"
	// otherRegion is a region in which the world begins without instances.
	otherRegion = "north"
)

// misdirectionActions are the actions of this profile.
func (w *World) misdirectionActions() (out []func()) {
	d := w.profile.misdirectionProfile
	if d.scopes {
		out = append(out, w.moveMachine, w.moveMachine, w.moveTemplate)
	}
	if d.edits {
		out = append(out, w.editSpec, w.editSpec, w.refuseSpecs, w.recreateClass)
	}
	if d.accounts {
		out = append(out, w.switchAccount, w.switchAccount, w.toggleCredentialKey)
	}
	if d.blank {
		out = append(out, w.denyInstances, w.denyInstances)
	}
	if d.neighbours {
		out = append(out, w.neighbour, w.neighbour)
	}
	return out
}

// move edits the labels that name the place of instances.
func (w *World) move(labels map[string]string) string {
	key, values := openshift.ClusterLabel, []string{"green", "green", clusterName, ""}
	if w.chance(30) {
		key, values = openshift.RegionLabel, []string{otherRegion, ""}
	}
	value, _ := pick(w, values)
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
	return fmt.Sprintf("%s=%q", key, value)
}

func (w *World) moveMachine() {
	m := w.anyMachine(w.chance(40))
	if m == nil {
		return
	}
	what := ""
	w.edit(m, "", func(o client.Object) {
		if o.GetLabels() == nil {
			o.SetLabels(map[string]string{})
		}
		what = w.move(o.GetLabels())
	})
	w.does("labels machine %s %s", m.GetName(), what)
}

// moveTemplate edits the labels of a template, or the region of a class.
func (w *World) moveTemplate() {
	o, ok := pick(w, append(w.store.All(w.adapter.set), w.deployments()...))
	if !ok || o.GetDeletionTimestamp() != nil {
		return
	}
	if w.adapter.api == provider.Gardener {
		w.moveClass()
		return
	}
	what := ""
	w.edit(o, "", func(o client.Object) { what = w.move(templateLabels(o)) })
	w.does("labels the template of %s %s", o.GetName(), what)
}

func templateLabels(o client.Object) map[string]string {
	switch o := o.(type) {
	case *machinev1.MachineSet:
		return o.Spec.Template.Labels
	case *v1beta1.MachineDeployment:
		return o.Spec.Template.Labels
	}
	return nil
}

func (w *World) moveClass() {
	c, ok := pick(w, w.store.All(&v1alpha1.MachineClass{}))
	if !ok {
		return
	}
	region, _ := pick(w, []string{otherRegion, ""})
	w.edit(c, "", func(o client.Object) { o.(*v1alpha1.MachineClass).NodeTemplate = nodeTemplate(region) })
	w.does("moves class %s to region %q", c.GetName(), region)
}

func nodeTemplate(region string) *v1alpha1.NodeTemplate {
	if region == "" {
		return nil
	}
	one := resource.MustParse("1")
	return &v1alpha1.NodeTemplate{
		Capacity:     corev1.ResourceList{corev1.ResourceCPU: one, "gpu": one, corev1.ResourceMemory: one},
		InstanceType: "any", Region: region, Zone: region + "-1",
	}
}

// editSpec changes a field of a spec that has no effect.
func (w *World) editSpec() {
	n := w.roll(100)
	if w.adapter.api == provider.Gardener {
		c, ok := pick(w, w.store.All(&v1alpha1.MachineClass{}))
		if !ok {
			return
		}
		w.edit(c, "", func(o client.Object) {
			o.(*v1alpha1.MachineClass).ProviderSpec = runtime.RawExtension{Raw: fmt.Appendf(nil, `{"edited":%d}`, n)}
		})
		w.does("edits the spec of class %s", c.GetName())
		return
	}
	m, ok := w.anyMachine(w.chance(40)).(*machinev1.Machine)
	if !ok {
		return
	}
	w.edit(m, "", func(o client.Object) {
		raw := o.(*machinev1.Machine).Spec.ProviderSpec.Value.Raw
		o.(*machinev1.Machine).Spec.ProviderSpec.Value.Raw = fmt.Appendf(nil, `{"edited":%d,%s`, n, raw[1:])
	})
	w.does("edits the spec of machine %s", m.Name)
}

// refuseSpecs lets the cloud refuse all specs for some time.
func (w *World) refuseSpecs() {
	if w.chance(40) {
		w.falseAnswers.refused = w.now.Add(time.Duration(w.between(10, 600)) * time.Second)
		w.tracef("cloud", "accepts NO SPEC until %v", w.falseAnswers.refused.Sub(epoch))
	}
}

func (w *World) refuses() error {
	if w.now.Before(w.falseAnswers.refused) {
		return provider.InvalidField("edited", "is not known")
	}
	return nil
}

// recreateClass deletes a class, or recreates the deleted ones.
func (w *World) recreateClass() {
	if w.adapter.api != provider.Gardener {
		return
	}
	if c, ok := pick(w, w.store.All(&v1alpha1.MachineClass{})); ok && w.chance(40) {
		w.must("delete a class", w.store.Delete(c, client.DeleteOptions{}))
		w.does("deletes class %s", c.GetName())
		return
	}
	w.restoreClasses()
}

func (w *World) restoreClasses() {
	if !w.has(provider.Gardener) {
		return
	}
	for _, c := range append(gardenerClasses(), w.otherClasses()...) {
		if w.store.Lookup(c, client.ObjectKeyFromObject(c)) == nil {
			_, err := w.store.Create(c)
			w.must("make a class again", err)
			w.does("makes class %s again", c.GetName())
		}
	}
}

// endMisdirection lets users restore what only users can restore.
func (w *World) endMisdirection() {
	w.falseAnswers = falseAnswers{}
	w.clearNames()
	w.restoreAccount()
	w.restoreClasses()
	w.each(w.mendLabels)
	w.giveCredentials()
	w.each(w.keepPlaces)
}

// mendLabels restores the labels that name the cluster of machines.
func (w *World) mendLabels() {
	for _, o := range append(w.store.All(w.adapter.set), w.deployments()...) {
		if labels := templateLabels(o); labels != nil && labels[openshift.ClusterLabel] == "" {
			w.edit(o, "", func(o client.Object) { templateLabels(o)[openshift.ClusterLabel] = clusterName })
		}
	}
	for _, m := range w.store.All(w.adapter.machine) {
		if w.adapter.api == provider.OpenShift && m.GetLabels()[openshift.ClusterLabel] == "" {
			w.edit(m, "", func(o client.Object) {
				labels := map[string]string{}
				for k, v := range o.GetLabels() {
					labels[k] = v
				}
				labels[openshift.ClusterLabel] = clusterName
				o.SetLabels(labels)
			})
		}
	}
}

// giveCredentials gives machines the credentials of the account in which their instances exist.
func (w *World) giveCredentials() {
	if !w.profile.accounts {
		return
	}
	for _, m := range w.machines() {
		if w.accountOf(m) == otherAccount && !w.hasOtherCredentials(m) {
			w.edit(m, "", useOtherCredentials)
			w.does("gives machine %s the credentials of account %s", m.GetName(), otherAccount)
		}
	}
}

// accountOf is the account of a machine's instance. Users know it from the machine's message, or they look at the cloud.
func (w *World) accountOf(m client.Object) string {
	if o := w.of(m).view(m).Recorded.Origin; o != nil && o.Account != "" {
		return o.Account
	}
	for _, i := range w.cloud.Existing(string(m.GetUID())) {
		return i.Account
	}
	for _, p := range w.cloud.Parts(string(m.GetUID())) {
		return p.Account
	}
	return ""
}

func (w *World) hasOtherCredentials(m client.Object) bool {
	switch m := m.(type) {
	case *v1alpha1.Machine:
		return m.Spec.Class.Name == otherName(className)
	case *machinev1.Machine:
		return strings.Contains(string(m.Spec.ProviderSpec.Value.Raw), otherName(secretName))
	}
	return true
}

func useOtherCredentials(o client.Object) {
	switch m := o.(type) {
	case *v1alpha1.Machine:
		m.Spec.Class.Name = otherName(className)
	case *machinev1.Machine:
		m.Spec.ProviderSpec.Value.Raw = otherCredentials(m.Spec.ProviderSpec.Value.Raw)
	}
}

func otherName(name string) string { return name + "-" + otherAccount }

func otherCredentials(raw []byte) []byte {
	return []byte(strings.Replace(string(raw), `"credentialsSecret":{"name":"`+secretName+`"}`, `"credentialsSecret":{"name":"`+otherName(secretName)+`"}`, 1))
}

// keepPlaces ensures that collectors look in every place with an instance or part without a machine: collectors look only in
// places where machines are created. Users approve the removal.
func (w *World) keepPlaces() {
	if !w.profile.collects || w.losses.allLost {
		return
	}
	places := lostPlaces(w)
	for _, cluster := range []string{clusterName, "green"} {
		for _, region := range []string{"", otherRegion} {
			for _, account := range []string{cloud.MainAccount, otherAccount} {
				if at := (cloud.Place{Account: account, Region: region, Cluster: cluster}); places[at] && w.keepPlace(at) {
					w.approve()
				}
			}
		}
	}
}

// clearPlaces waits until the collector has removed the orphans in the places of keepPlaces, because the objects that name
// these places are deleted with the rest. If the world was at rest before, the collector has finished.
func clearPlaces(w *World) {
	kept := func(at cloud.Place) bool {
		o := w.keeper(keeperName(at), at)
		return w.store.Lookup(o, client.ObjectKeyFromObject(o)) != nil
	}
	for range int(time.Hour / longestDelay) {
		waits := false
		w.each(func() {
			for at := range lostPlaces(w) {
				waits = waits || kept(at)
			}
		})
		if !waits || w.violation != nil {
			return
		}
		w.until(w.now.Add(longestDelay))
	}
}

func keeperName(at cloud.Place) string {
	return strings.TrimSuffix("keep-"+at.Cluster+"-"+at.Account+"-"+at.Region, "-")
}

// lostPlaces are the places of our instances and parts without a machine.
func lostPlaces(w *World) map[cloud.Place]bool {
	places := map[cloud.Place]bool{}
	for _, i := range w.cloud.Existing("") {
		if i.Owner == owner && i.Namespace == namespace && w.machineOf(w.uidOf(i)) == nil {
			places[i.Place] = true
		}
	}
	for _, p := range w.cloud.Parts("") {
		if p.Owner == owner && p.Namespace == namespace && w.machineOf(w.uidOfPart(p)) == nil {
			places[p.Place] = true
		}
	}
	return places
}

// keepPlace creates the object that names a place, and reports whether it did not exist yet.
func (w *World) keepPlace(at cloud.Place) bool {
	o := w.keeper(keeperName(at), at)
	if w.store.Lookup(o, client.ObjectKeyFromObject(o)) != nil {
		return false
	}
	_, err := w.store.Create(o)
	w.must("keep a place", err)
	w.does("creates %s, so that the collector looks at %v", o.GetName(), at)
	return true
}

// keeper is a template without machines that names the place.
func (w *World) keeper(name string, at cloud.Place) client.Object {
	if w.adapter.api == provider.Gardener {
		c := gardenerClasses()[0].(*v1alpha1.MachineClass)
		c.Name, c.NodeTemplate = name, nodeTemplate(at.Region)
		if at.Account == otherAccount {
			c.CredentialsSecretRef.Name = otherName(secretName)
		}
		return c
	}
	s := openshiftSet(name, 0).(*machinev1.MachineSet)
	s.Spec.Template.Labels[openshift.ClusterLabel] = at.Cluster
	if at.Region != "" {
		s.Spec.Template.Labels[openshift.RegionLabel] = at.Region
	}
	if at.Account == otherAccount {
		v := s.Spec.Template.Spec.ProviderSpec.Value
		v.Raw = otherCredentials(v.Raw)
	}
	return s
}
