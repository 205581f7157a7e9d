package cloud_test

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// groupIDs are the IDs of the security groups by name, in the cloud of the recording.
var groupIDs = map[string]string{"default": "83022f8a-7a41-46e1-9089-80c393ee5cf2", "workers": "aa3c6a20-7f1e-4f1d-8c25-4a0cf8b1d944"}

// imply adds to the ports of the case the results of the original's further requests: Nova creates a port
// in each network that it gets, with the security groups of the server, and the original writes address
// pairs to a port once its server runs, one in each request. This provider creates the same ports itself,
// and its values are compared with these.
func imply(r recordtest.Record) {
	if r.API != provider.Gardener {
		return
	}
	server := r.Sent["server"]
	for n := 0; ; n++ {
		network, ok := server[fmt.Sprintf("networks.%d.uuid", n)]
		if !ok {
			return
		}
		name := fmt.Sprintf("port %d", n)
		port := r.Sent[name]
		if port == nil {
			port = recordtest.Parameters{"network_id": network}
			for key := range server {
				if group, is := strings.CutPrefix(key, "security_groups."); is {
					port["security_groups."+cmp.Or(groupIDs[group], group)] = "yes"
				}
			}
			r.Sent[name] = port
		}
		for pairs, update := 0, r.Sent[name+" update"]; update != nil; pairs++ {
			port[fmt.Sprintf("allowed_address_pairs.%d.ip_address", pairs)] = update["allowed_address_pairs.0.ip_address"]
			update = r.Sent[fmt.Sprintf("%s update %d", name, pairs+2)]
		}
	}
}
