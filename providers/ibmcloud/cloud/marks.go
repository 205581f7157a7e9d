package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// marks are the identity of a machine, in the names of its instance's parts. Instances of other programs have
// none. The creating request sets the names, so that no instance is without them, and each listing shows
// them. Tags have neither property: another service stores them, after the instance exists.
type marks struct {
	// uid and cluster are in the name of the network interface: the machine's UID, and a hash of the cluster's
	// name.
	uid, cluster string
	// owner and namespace are in the name of the boot volume's attachment. A namespace that does not fit ends
	// in the name of the boot volume.
	owner, namespace string
}

// ours is the begin of all names that are marks.
const ours = "mw-"

// mostName is the length of the longest name of a resource of VPC.
const mostName = 63

// unknown replaces the UID of an unknown owner.
const unknown = "unknown"

const uidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	uidForm        = regexp.MustCompile(`^` + uidPattern + `$`)
	interfaceForm  = regexp.MustCompile(`^` + ours + `(` + uidPattern + `)-([0-9a-f]{16})$`)
	attachmentForm = regexp.MustCompile(`^` + ours + `(` + uidPattern + `|` + unknown + `)(?:-(.*))?$`)
	volumeForm     = regexp.MustCompile(`^` + ours + `([0-9a-f]{16})(?:-(.*))?$`)
)

// marksOf reads the names of an instance's parts.
func marksOf(i *instance) (m marks) {
	if i.Primary == nil {
		return m
	}
	found := interfaceForm.FindStringSubmatch(i.Primary.Name)
	if found == nil {
		return m
	}
	m.uid, m.cluster = found[1], found[2]
	if found := attachmentForm.FindStringSubmatch(i.Boot.Name); found != nil {
		m.namespace = found[2]
		if found[1] != unknown {
			m.owner = found[1]
		}
		if i.Boot.Volume != nil && m.namespace != "" {
			if found := volumeForm.FindStringSubmatch(i.Boot.Volume.Name); found != nil {
				m.namespace += found[2]
			}
		}
	}
	return m
}

// clusterMark is the hash of a cluster's name in marks.
func clusterMark(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return hex.EncodeToString(sum[:8])
}

// interfaceName is the name of the network interface of ref's instance.
func (s ownership) interfaceName(ref provider.Ref) string {
	return ours + ref.UID + "-" + clusterMark(s.class.Cluster)
}

// attachmentName is the name of the attachment of the boot volume, and rest is the part of the namespace that
// does not fit into it. A name does not end with a dash.
func (s ownership) attachmentName(ref provider.Ref) (name, rest string) {
	owner := s.class.Owner
	if !uidForm.MatchString(owner) {
		owner = unknown
	}
	n := min(len(ref.Namespace), mostName-len(ours+owner+"-"))
	for n > 0 && ref.Namespace[n-1] == '-' {
		n--
	}
	if n == 0 {
		return ours + owner, ""
	}
	return ours + owner + "-" + ref.Namespace[:n], ref.Namespace[n:]
}

// attachmentAlone is [ownership.attachmentName] for an instance whose volume has another name: without a
// namespace that does not fit.
func (s ownership) attachmentAlone(ref provider.Ref) (name string, hasNamespace bool) {
	if name, rest := s.attachmentName(ref); rest == "" {
		return name, ref.Namespace != ""
	}
	name, _ = s.attachmentName(provider.Ref{})
	return name, false
}

// volumeName is the name of the boot volume, which is unique in the region: a second request for ref's
// instance fails, whatever name the instance has.
func (s ownership) volumeName(ref provider.Ref, rest string) string {
	name := ours + ref.Token(s.class.Cluster)[:16]
	if rest != "" {
		name += "-" + rest
	}
	return name
}

// nameForm is the form of names of resources.
var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// instanceName is the name of a machine's instance: the machine's, unless no instance can have it or an
// instance of another machine has it. used are the names of other instances in the region.
func (s ownership) instanceName(ref provider.Ref, used map[string]bool) (string, error) {
	if nameForm.MatchString(ref.Name) && !used[ref.Name] {
		return ref.Name, nil
	}
	name := s.uniqueName(ref)
	if used[name] {
		return "", provider.Errorf(provider.Conflict, "the region has instances %s and %s of other machines", provider.Clip(ref.Name, mostName), name)
	}
	return name, nil
}

// letters is the begin of a name that does not begin with a letter.
const letters = "m-"

// uniqueName is a name that no other machine has: it ends with a part of the machine's token.
func (s ownership) uniqueName(ref provider.Ref) string {
	base := strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(ref.Name))
	if base == "" || base[0] < 'a' || base[0] > 'z' {
		base = letters + base
	}
	suffix := "-" + ref.Token(s.class.Cluster)[:8]
	return strings.TrimRight(base[:min(len(base), mostName-len(suffix))], "-") + suffix
}

// inScope reports whether an instance is the cluster's: by its marks. An instance of another program is in
// scope if it is in the VPC and the resource group of the spec, where the original searches and creates, or
// if the provider ID of a machine of the cluster names it.
func (s ownership) inScope(i *instance, m marks, providerID string) bool {
	if m.uid != "" {
		return m.cluster == clusterMark(s.class.Cluster)
	}
	if s.plan != nil && i.VPC.Name == s.plan.VPC && i.ResourceGroup.Name == s.plan.ResourceGroup {
		return true
	}
	return providerID != "" && idOf(providerID) == i.ID && clusterOf(providerID) == strings.ToLower(s.class.Cluster)
}
