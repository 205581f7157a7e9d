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

// The keys of metadata, of servers and of volumes, that say whose they are. Nova's alphabet has no slash.
const (
	metaUID       = "millwright.dev-machine-uid"
	metaNamespace = "millwright.dev-machine-namespace"
	metaOwner     = "millwright.dev-owner"
	metaCluster   = "millwright.dev-cluster"
	// metaOrder, of volumes alone, is what a volume was asked for with: another choice gets another one.
	metaOrder = "millwright.dev-made-of"
)

// ours reports whether a key of metadata is none of users.
func ours(key string) bool {
	return slices.Contains([]string{metaUID, metaNamespace, metaOwner, metaCluster}, key)
}

// Tags, of servers and of ports, which listings select by. Nova takes 60 characters, and neither slash nor comma.
const (
	// tagOurs is on all that this provider makes.
	tagOurs = "millwright.dev"
	// tagOriginal is on all that the original makes for machine.openshift.io.
	tagOriginal = "cluster-api-provider-openstack"
	tagUID      = "millwright-machine-uid="
	tagOwner    = "millwright-owner="
	tagServer   = "millwright-server="
	mostTag     = 60
)

// originalNamespace is where OpenShift has its machines: the original tags with it and the cluster's name.
const originalNamespace = "openshift-machine-api"

// scope is whose servers a session makes and finds.
type scope struct {
	class provider.Class
	plan  plan
	// bare: the class has no spec any more; what is there is found and removed.
	bare bool
	surroundings
}

// owned is whose something is.
type owned struct{ uid, owner, namespace, cluster string }

// of is what is made for ref by the session.
func (s scope) of(ref provider.Ref) owned {
	return owned{ref.UID, s.class.Owner, ref.Namespace, s.class.Cluster}
}

// metadata is the part of it that says whose a server or a volume is.
func (o owned) metadata() map[string]string {
	all := map[string]string{metaUID: o.uid, metaNamespace: o.namespace, metaOwner: o.owner, metaCluster: o.cluster}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

func ownedByMetadata(m map[string]string) owned {
	return owned{m[metaUID], m[metaOwner], m[metaNamespace], m[metaCluster]}
}

// mark is the description of a port, or its end: it is the one text that Neutron takes in the call that makes one.
func (o owned) mark() string {
	return fmt.Sprintf("millwright machine=%s owner=%s namespace=%s cluster=%s", o.uid, o.owner, o.namespace, o.cluster)
}

const mostDescription = 255

// described is the mark behind the text of users, as far as there is room: what is marked by tags by then may go without.
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

// ownedByMark reads a description, and the tags for what has none.
func ownedByMark(description string, tags []string) owned {
	if m := marks.FindStringSubmatch(description); m != nil {
		return owned{m[1], m[2], m[3], m[4]}
	}
	return owned{uid: tagged(tags, tagUID), owner: tagged(tags, tagOwner)}
}

// tagged is what follows the beginning in one of the tags.
func tagged(tags []string, beginning string) string {
	for _, t := range tags {
		if value, ok := strings.CutPrefix(t, beginning); ok {
			return value
		}
	}
	return ""
}

// serverTags are what a server is tagged with, and trunks of its ports: by users, by the original, and by us.
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

// portTags are what a port is tagged with once its server is known.
func (s scope) portTags(ref provider.Ref, p portPlan, server string) []string {
	tags := append(s.commonTags(ref), p.tags...)
	return tidied(append(tags, tagOurs, tagUID+ref.UID, tagOwner+s.class.Owner, tagServer+server))
}

// tidied leaves out what is there twice, says nothing, or is too long to be taken.
func tidied(tags []string) []string {
	slices.Sort(tags)
	return slices.DeleteFunc(slices.Compact(tags), func(t string) bool {
		return t == "" || len(t) > mostTag || strings.HasSuffix(t, "=") && strings.HasPrefix(t, "millwright-")
	})
}

// serverMetadata is that of users, and ours, which theirs does not stand in for.
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

// marked is metadata of users with that which says whose something is, which theirs does not stand in for.
func marked(users map[string]string, o owned) map[string]string {
	all := o.metadata()
	for key, value := range users {
		if !ours(key) {
			all[key] = value
		}
	}
	return all
}

// owning are the keys of metadata that say whose a server is for machine.sapcloud.io.
func (s scope) owning() []string {
	if len(s.plan.owning) > 0 {
		return s.plan.owning
	}
	return []string{spec.ClusterTag + s.class.Cluster}
}

// owns reports whether a server is in the class's ownership scope: by our own word for the cluster, or by the original's.
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
	// What was made through the other API carries no such keys at all.
	for key := range metadata {
		if strings.Contains(key, spec.ClusterTag) {
			return false
		}
	}
	return marked && cluster == s.class.Cluster
}

// macOf is the address of a machine's port number n, the same at all times: locally administered, of one host.
func macOf(token string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", token, n))
	return fmt.Sprintf("fa:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

// scheme is what provider IDs begin with.
const scheme = "openstack://"

// identify is [provider.Traits].Identify: openstack:///<id>, openstack:///<region>/<id> and openstack://<region>/<id> are one server.
func identify(providerID string) string {
	lower := strings.ToLower(providerID)
	if !strings.HasPrefix(lower, scheme) {
		return ""
	}
	return provider.Tail(lower)
}

// providerID is in the format of the API.
func (s scope) providerID(id, region string) string {
	if s.class.API == provider.Gardener && region != "" {
		return scheme + "/" + region + "/" + id
	}
	return scheme + "/" + id
}
