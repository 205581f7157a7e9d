package cloud

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// The metadata keys, of servers and of volumes, that record the owner. Nova's alphabet has no slash.
const (
	metaUID       = "millwright.dev-machine-uid"
	metaNamespace = "millwright.dev-machine-namespace"
	metaOwner     = "millwright.dev-owner"
	metaCluster   = "millwright.dev-cluster"
	// metaOrder, of volumes alone, records the order of the volume: another choice gets another one.
	metaOrder = "millwright.dev-made-of"
)

// ours reports whether a metadata key is reserved for this provider.
func ours(key string) bool {
	return slices.Contains([]string{metaUID, metaNamespace, metaOwner, metaCluster}, key)
}

// Tags, of servers and of ports, by which listings select. Nova takes 60 characters, and neither slash nor
// comma.
const (
	// tagOurs is on every object that this provider creates.
	tagOurs = "millwright.dev"
	// tagOriginal is on every object that the original creates for machine.openshift.io.
	tagOriginal = "cluster-api-provider-openstack"
	tagUID      = "millwright-machine-uid="
	tagOwner    = "millwright-owner="
	tagServer   = "millwright-server="
	mostTag     = 60
)

// originalNamespace is OpenShift's namespace of machines: the original's tags contain it and the cluster's
// name.
const originalNamespace = "openshift-machine-api"

// scope is the ownership scope of a session.
type scope struct {
	class provider.Class
	plan  plan
	// bare: the class has no spec any more; existing objects are found and removed.
	bare bool
	clusterConfig
}

// owned identifies the owner of an object.
type owned struct{ uid, owner, namespace, cluster string }

// of returns the owner of the session's objects for ref.
func (s scope) of(ref provider.Ref) owned {
	return owned{ref.UID, s.class.Owner, ref.Namespace, s.class.Cluster}
}

// metadata returns the owner as metadata of a server or a volume.
func (o owned) metadata() map[string]string {
	all := map[string]string{metaUID: o.uid, metaNamespace: o.namespace, metaOwner: o.owner, metaCluster: o.cluster}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

func ownedByMetadata(m map[string]string) owned {
	return owned{m[metaUID], m[metaOwner], m[metaNamespace], m[metaCluster]}
}

// mark is the description of a port, or the end of the description: it is the only text that Neutron takes
// in the call that creates a port.
func (o owned) mark() string {
	return fmt.Sprintf("millwright machine=%s owner=%s namespace=%s cluster=%s", o.uid, o.owner, o.namespace, o.cluster)
}

const mostDescription = 255

// described returns the text of users followed by the mark, if both fit: a port that has tags by then needs
// no mark.
func (o owned) described(text string) string {
	switch both := text + " (" + o.mark() + ")"; {
	case text == "":
		return o.mark()
	case len(both) <= mostDescription:
		return both
	}
	return text
}

var marks = regexp.MustCompile(`millwright machine=(\S*) owner=(\S*) namespace=(\S*) cluster=([^\s)]*)\)?$`)

// ownedByMark reads the owner from a description, or from the tags if there is no mark.
func ownedByMark(description string, tags []string) owned {
	if m := marks.FindStringSubmatch(description); m != nil {
		return owned{m[1], m[2], m[3], m[4]}
	}
	return owned{uid: tagged(tags, tagUID), owner: tagged(tags, tagOwner)}
}

// tagged returns the text after the prefix in one of the tags.
func tagged(tags []string, beginning string) string {
	for _, t := range tags {
		if value, ok := strings.CutPrefix(t, beginning); ok {
			return value
		}
	}
	return ""
}

// serverTags are the tags of a server, and of trunks of its ports: of users, of the original, and ours.
func (s scope) serverTags(ref provider.Ref) []string {
	return tidied(append(s.commonTags(ref), tagOurs, tagUID+ref.UID))
}

// commonTags are those of users and of the original, which servers and ports share.
func (s scope) commonTags(ref provider.Ref) (tags []string) {
	tags = slices.Clone(s.plan.tags)
	if s.class.API == provider.OpenShift {
		tags = append(tags, tagOriginal, ref.Namespace+"-"+s.class.Cluster)
		return tags
	}
	return append(tags, s.owning()...)
}

// portTags are the tags of a port once its server is known.
func (s scope) portTags(ref provider.Ref, p portPlan, server string) []string {
	tags := append(s.commonTags(ref), p.tags...)
	return tidied(append(tags, tagOurs, tagUID+ref.UID, tagOwner+s.class.Owner, tagServer+server))
}

// tidied leaves out duplicate, empty and too long tags.
func tidied(tags []string) []string {
	slices.Sort(tags)
	return slices.DeleteFunc(slices.Compact(tags), func(t string) bool {
		return t == "" || len(t) > mostTag || strings.HasSuffix(t, "=") && strings.HasPrefix(t, "millwright-")
	})
}

// serverMetadata is that of users, and ours, which users cannot replace.
func (s scope) serverMetadata(ref provider.Ref) map[string]string {
	all := maps.Clone(s.plan.metadata)
	if all == nil {
		all = map[string]string{}
	}
	if s.class.API == provider.Gardener && len(s.plan.owning) == 0 {
		all[spec.ClusterTag+s.class.Cluster] = "1"
	}
	return marked(all, s.of(ref))
}

// marked is metadata of users with that of the owner, which users cannot replace.
func marked(users map[string]string, o owned) map[string]string {
	all := o.metadata()
	for key, value := range users {
		if !ours(key) {
			all[key] = value
		}
	}
	return all
}

// owning are the metadata keys that record a server's owner for machine.sapcloud.io.
func (s scope) owning() []string {
	if len(s.plan.owning) > 0 {
		return s.plan.owning
	}
	return []string{spec.ClusterTag + s.class.Cluster}
}

// owns reports whether a server is in the class's ownership scope: by our key for the cluster, or by the
// original's.
func (s scope) owns(metadata map[string]string, tags []string) bool {
	cluster, marked := metadata[metaCluster]
	if s.class.API == provider.OpenShift {
		if marked {
			return cluster == s.class.Cluster
		}
		return slices.Contains(tags, originalNamespace+"-"+s.class.Cluster) || slices.Contains(tags, "openshiftClusterID="+s.class.Cluster)
	}
	all := !slices.ContainsFunc(s.owning(), func(key string) bool { _, ok := metadata[key]; return !ok })
	if all || s.bare && marked {
		return all || cluster == s.class.Cluster
	}
	// A server of the other API has none of these keys.
	for key := range metadata {
		if strings.Contains(key, spec.ClusterTag) {
			return false
		}
	}
	return marked && cluster == s.class.Cluster
}

// macOf is the address of a machine's port number n, always the same: locally administered, unicast.
func macOf(token string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", token, n))
	return fmt.Sprintf("fa:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

// scheme is the prefix of provider IDs.
const scheme = "openstack://"

// identify is [provider.Traits].Identify: openstack:///<id>, openstack:///<region>/<id> and openstack://<region>/<id> are one server.
func identify(providerID string) string {
	lower := strings.ToLower(providerID)
	if !strings.HasPrefix(lower, scheme) {
		return ""
	}
	return provider.Tail(lower)
}

// providerID returns the provider ID in the format of the API.
func (s scope) providerID(id, region string) string {
	if s.class.API == provider.Gardener && region != "" {
		return scheme + "/" + region + "/" + id
	}
	return scheme + "/" + id
}
