package cloud

import (
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// The options of a virtual machine (its extraConfig) that record its owner. They are written with the
// request for the clone. They do not begin with "guestinfo.", because guests may change such options.
const (
	keyUID       = "millwright.dev-machine-uid"
	keyNamespace = "millwright.dev-machine-namespace"
	keyName      = "millwright.dev-machine-name"
	keyOwner     = "millwright.dev-owner"
	keyCluster   = "millwright.dev-cluster"
	keyTemplate  = "millwright.dev-template"
	keyGroup     = "millwright.dev-vm-group"
	// keyStarted says that a virtual machine ran, if no tag does.
	keyStarted = "millwright.dev-started"
)

var identityKeys = []string{keyUID, keyNamespace, keyName, keyOwner, keyCluster, keyTemplate, keyGroup, keyStarted}

var uuidShape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// instanceUUIDs are the possible instance UUIDs of a machine in the vCenter. New ones get the first.
//
// OpenShift's own provider uses the UID of the machine and looks for it: new instances of its API do the
// same, so that it finds them if it is used again. Others get a UUID computed from the token, which two
// clusters with the same UIDs do not share.
func instanceUUIDs(api, cluster string, ref provider.Ref) []string {
	uid, token := strings.ToLower(ref.UID), ref.Token(cluster)
	made := strings.Join([]string{token[:8], token[8:12], token[12:16], token[16:20], token[20:]}, "-")
	switch {
	case !uuidShape.MatchString(uid):
		return []string{made}
	case api == provider.OpenShift:
		return []string{uid, made}
	}
	return []string{made, uid}
}

const scheme = "vsphere://"

// providerID is vsphere://<BIOS UUID> for OpenShift and vsphere://<region>/<BIOS UUID> for Gardener.
func providerID(api, region, biosUUID string) string {
	switch {
	case biosUUID == "":
		return ""
	case api == provider.Gardener:
		return scheme + region + "/" + strings.ToLower(biosUUID)
	}
	return scheme + strings.ToLower(biosUUID)
}

// biosUUID is the UUID in a provider ID of either format; empty if the provider ID is invalid.
func biosUUID(id string) string {
	id = strings.ToLower(id)
	tail, ok := strings.CutPrefix(id, scheme)
	if !ok {
		return ""
	}
	uuid := provider.Tail(tail)
	if !uuidShape.MatchString(uuid) {
		return ""
	}
	return uuid
}
