package cloud_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// row is a field of a spec, and the part of a request that has its value, as the cloud receives it; or the
// reason why none has.
type row struct {
	field string
	// set is merged into the smallest spec.
	set string
	// in is the beginning of the request, has its content: all texts between &&.
	in, has string
	// why explains why no request has the field.
	why string
}

const (
	servers = "POST /compute/v2.1/servers?"
	ports   = "POST /network/v2.0/ports?"
	volumes = "POST /volume/v3/"
	net1    = "9dc8b730-e135-4551-9687-f176ba5bdf03"
	sub1    = "6b7de768-d267-48b1-b917-31e861472aa4"
	group1  = "aa3c6a20-7f1e-4f1d-8c25-4a0cf8b1d944"
	image2  = "2c7f8e13-52a4-4c3b-9d1f-6f2e1a7b9c58"
)

// typeFields are those of every spec.
var typeFields = []row{{field: "apiVersion", why: "identifies the type of the spec"}, {field: "kind", why: "identifies the type of the spec"}}

const ignored = "has no effect, as in OpenShift's provider; a warning says so"

var openshiftRows = slices.Concat(typeFields, []row{
	{field: "metadata", why: "has no effect"},
	{field: "cloudsSecret", why: "names the credentials (TestReadSpec)"},
	{field: "userDataSecret", why: "names the user data (TestReadSpec, TestUserData)"},
	{field: "cloudName", why: "selects the cloud in clouds.yaml (TestCloudName)"},
	{field: "flavor", set: `{"flavor":"m1.large"}`, in: servers, has: `"flavorRef":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c11"`},
	{field: "image", set: `{"image":"gardenlinux"}`, in: servers, has: `"imageRef":"` + image2 + `"`},
	{field: "keyName", set: `{"keyName":"k"}`, in: servers, has: `"key_name":"k"`},
	{field: "sshUserName", why: ignored},
	{field: "networks[].uuid", set: `{"networks":[{"uuid":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"}]}`, in: ports, has: `"network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"`},
	{field: "networks[].fixedIp", why: ignored},
	{field: "networks[].filter.id", set: `{"networks":[{"filter":{"id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"}}]}`, in: ports, has: `"network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"`},
	{field: "networks[].filter.name", set: `{"networks":[{"filter":{"name":"n"}}]}`, in: "GET /network/v2.0/networks?", has: "name=n"},
	{field: "networks[].filter.description", set: `{"networks":[{"filter":{"description":"d"}}]}`, in: "GET /network/v2.0/networks?", has: "description=d"},
	{field: "networks[].filter.tenantId", set: `{"networks":[{"filter":{"tenantId":"t"}}]}`, in: "GET /network/v2.0/networks?", has: "project_id=t"},
	{field: "networks[].filter.projectId", set: `{"networks":[{"filter":{"projectId":"p","tenantId":"t"}}]}`, in: "GET /network/v2.0/networks?", has: "project_id=p"},
	{field: "networks[].filter.tags", set: `{"networks":[{"filter":{"tags":"a,b"}}]}`, in: "GET /network/v2.0/networks?", has: "tags=a,b"},
	{field: "networks[].filter.tagsAny", set: `{"networks":[{"filter":{"tagsAny":"a,b"}}]}`, in: "GET /network/v2.0/networks?", has: "tags-any=a,b"},
	{field: "networks[].filter.notTags", set: `{"networks":[{"filter":{"name":"net1","notTags":"a,b"}}]}`, in: "GET /network/v2.0/networks?", has: "not-tags=a,b"},
	{field: "networks[].filter.notTagsAny", set: `{"networks":[{"filter":{"notTagsAny":"role=storage","tags":"openshiftClusterID=c1"}}]}`, in: "GET /network/v2.0/networks?", has: "not-tags-any=role=storage"},
	{field: "networks[].filter.status", why: ignored},
	{field: "networks[].filter.adminStateUp", why: ignored},
	{field: "networks[].filter.shared", why: ignored},
	{field: "networks[].filter.marker", why: ignored},
	{field: "networks[].filter.limit", why: ignored},
	{field: "networks[].filter.sortKey", why: ignored},
	{field: "networks[].filter.sortDir", why: ignored},
	{field: "networks[].subnets[].uuid", set: `{"networks":[{"uuid":"` + net1 + `","subnets":[{"uuid":"` + sub1 + `"}]}]}`, in: ports, has: `"fixed_ips":[{"subnet_id":"` + sub1 + `"}]`},
	{field: "networks[].subnets[].filter.id", set: subnetFilter(`"id":"` + sub1 + `"`), in: ports, has: `"fixed_ips":[{"subnet_id":"` + sub1 + `"}]`},
	{field: "networks[].subnets[].filter.name", set: subnetFilter(`"name":"n"`), in: "GET /network/v2.0/subnets?", has: "name=n"},
	{field: "networks[].subnets[].filter.description", set: subnetFilter(`"description":"d"`), in: "GET /network/v2.0/subnets?", has: "description=d"},
	{field: "networks[].subnets[].filter.networkId", why: ignored},
	{field: "networks[].subnets[].filter.tenantId", set: subnetFilter(`"tenantId":"t"`), in: "GET /network/v2.0/subnets?", has: "project_id=t"},
	{field: "networks[].subnets[].filter.projectId", set: subnetFilter(`"projectId":"p"`), in: "GET /network/v2.0/subnets?", has: "project_id=p"},
	{field: "networks[].subnets[].filter.ipVersion", set: subnetFilter(`"ipVersion":4`), in: "GET /network/v2.0/subnets?", has: "ip_version=4"},
	{field: "networks[].subnets[].filter.gateway_ip", set: subnetFilter(`"gateway_ip":"10.9.0.1"`), in: "GET /network/v2.0/subnets?", has: "gateway_ip=10.9.0.1"},
	{field: "networks[].subnets[].filter.cidr", set: subnetFilter(`"cidr":"10.9.0.0/16"`), in: "GET /network/v2.0/subnets?", has: "cidr=10.9.0.0/16"},
	{field: "networks[].subnets[].filter.ipv6AddressMode", set: subnetFilter(`"ipv6AddressMode":"slaac"`), in: "GET /network/v2.0/subnets?", has: "ipv6_address_mode=slaac"},
	{field: "networks[].subnets[].filter.ipv6RaMode", set: subnetFilter(`"ipv6RaMode":"slaac"`), in: "GET /network/v2.0/subnets?", has: "ipv6_ra_mode=slaac"},
	{field: "networks[].subnets[].filter.subnetpoolId", why: ignored},
	{field: "networks[].subnets[].filter.tags", set: subnetFilter(`"tags":"a,b"`), in: "GET /network/v2.0/subnets?", has: "tags=a,b"},
	{field: "networks[].subnets[].filter.tagsAny", set: subnetFilter(`"tagsAny":"a,b"`), in: "GET /network/v2.0/subnets?", has: "tags-any=a,b"},
	{field: "networks[].subnets[].filter.notTags", set: subnetFilter(`"notTags":"a,b"`), in: "GET /network/v2.0/subnets?", has: "not-tags=a,b"},
	{field: "networks[].subnets[].filter.notTagsAny", set: subnetFilter(`"notTagsAny":"a,b"`), in: "GET /network/v2.0/subnets?", has: "not-tags-any=a,b"},
	{field: "networks[].subnets[].filter.enableDhcp", why: ignored},
	{field: "networks[].subnets[].filter.limit", why: ignored},
	{field: "networks[].subnets[].filter.marker", why: ignored},
	{field: "networks[].subnets[].filter.sortKey", why: ignored},
	{field: "networks[].subnets[].filter.sortDir", why: ignored},
	{field: "networks[].subnets[].portTags", set: `{"networks":[{"uuid":"` + net1 + `","subnets":[{"uuid":"` + sub1 + `","portTags":["red"]}]}]}`, in: "PUT /network/v2.0/ports/", has: `"tags":[ && "red"`},
	{field: "networks[].subnets[].portSecurity", why: ignored},
	{field: "networks[].noAllowedAddressPairs", why: "leaves out what TestVIPs looks for"},
	{field: "networks[].portTags", set: `{"networks":[{"uuid":"` + net1 + `","portTags":["red"]}]}`, in: "PUT /network/v2.0/ports/", has: `"tags":[ && "red"`},
	{field: "networks[].vnicType", set: `{"networks":[{"uuid":"` + net1 + `","vnicType":"direct"}]}`, in: ports, has: `"binding:vnic_type":"direct"`},
	{field: "networks[].profile", set: `{"networks":[{"uuid":"` + net1 + `","profile":{"capabilities":"switchdev"}}]}`, in: ports, has: `"binding:profile":{"capabilities":["switchdev"]}`},
	{field: "networks[].portSecurity", set: `{"networks":[{"uuid":"` + net1 + `","portSecurity":false}]}`, in: ports, has: `"port_security_enabled":false`},
	{field: "ports[].networkID", set: port(``), in: ports, has: `"name":"m-1","network_id":"` + net1 + `"`},
	{field: "ports[].nameSuffix", set: port(`"nameSuffix":"x"`), in: ports, has: `"name":"m-x"`},
	{field: "ports[].description", set: port(`"description":"for backups"`), in: "PUT /network/v2.0/ports/", has: `"description":"for backups (millwright machine=`},
	{field: "ports[].adminStateUp", set: port(`"adminStateUp":false`), in: ports, has: `"admin_state_up":false`},
	{field: "ports[].macAddress", set: port(`"macAddress":"fa:16:3e:00:00:01"`), in: ports, has: `"mac_address":"fa:16:3e:00:00:01"`},
	{field: "ports[].fixedIPs[].subnetID", set: port(`"fixedIPs":[{"subnetID":"` + sub1 + `"}]`), in: ports, has: `"fixed_ips":[{"subnet_id":"` + sub1 + `"}]`},
	{field: "ports[].fixedIPs[].ipAddress", set: port(`"fixedIPs":[{"subnetID":"` + sub1 + `","ipAddress":"10.9.0.77"}]`), in: ports, has: `"ip_address":"10.9.0.77"`},
	{field: "ports[].tenantID", why: ignored},
	{field: "ports[].projectID", why: ignored},
	{field: "ports[].securityGroups", set: port(`"securityGroups":["` + group1 + `"]`), in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "ports[].allowedAddressPairs[].ipAddress", set: port(`"allowedAddressPairs":[{"ipAddress":"10.1.0.0/16"}]`), in: ports, has: `"allowed_address_pairs":[{"ip_address":"10.1.0.0/16"}]`},
	{field: "ports[].allowedAddressPairs[].macAddress", set: port(`"allowedAddressPairs":[{"ipAddress":"10.1.0.1","macAddress":"fa:16:3e:00:00:02"}]`), in: ports, has: `"allowed_address_pairs":[{"ip_address":"10.1.0.1","mac_address":"fa:16:3e:00:00:02"`},
	{field: "ports[].tags", set: port(`"tags":["red"]`), in: "PUT /network/v2.0/ports/", has: `"tags":[ && "red"`},
	{field: "ports[].vnicType", set: port(`"vnicType":"direct"`), in: ports, has: `"binding:vnic_type":"direct"`},
	{field: "ports[].profile", set: port(`"profile":{"trusted":"true"}`), in: ports, has: `"binding:profile":{"trusted":true}`},
	{field: "ports[].portSecurity", set: port(`"portSecurity":false`), in: ports, has: `"port_security_enabled":false`},
	{field: "ports[].trunk", set: port(`"trunk":true`), in: "POST /network/v2.0/trunks?", has: `"name":"m-1"`},
	{field: "ports[].hostID", why: ignored},
	{field: "floatingIP", set: `{"floatingIP":"203.0.113.10"}`, in: "PUT /network/v2.0/floatingips/7e0b8c1d-2f3a-4b5c-9d6e-8f7a6b5c4d3e", has: `"port_id":"`},
	{field: "availabilityZone", set: `{"availabilityZone":"az-2"}`, in: servers, has: `"availability_zone":"az-2"`},
	{field: "securityGroups[].uuid", set: `{"securityGroups":[{"uuid":"` + group1 + `"}]}`, in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "securityGroups[].name", set: `{"securityGroups":[{"name":"workers"}]}`, in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "securityGroups[].filter.id", set: groupFilter(`"id":"` + group1 + `"`), in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "securityGroups[].filter.name", set: groupFilter(`"name":"workers"`), in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "securityGroups[].filter.description", set: groupFilter(`"description":"d"`), in: "GET /network/v2.0/security-groups?", has: "description=d"},
	{field: "securityGroups[].filter.tenantId", set: groupFilter(`"tenantId":"t"`), in: "GET /network/v2.0/security-groups?", has: "project_id=t"},
	{field: "securityGroups[].filter.projectId", set: groupFilter(`"projectId":"p"`), in: "GET /network/v2.0/security-groups?", has: "project_id=p"},
	{field: "securityGroups[].filter.tags", set: groupFilter(`"tags":"a,b"`), in: "GET /network/v2.0/security-groups?", has: "tags=a,b"},
	{field: "securityGroups[].filter.tagsAny", set: groupFilter(`"tagsAny":"a,b"`), in: "GET /network/v2.0/security-groups?", has: "tags-any=a,b"},
	{field: "securityGroups[].filter.notTags", set: groupFilter(`"notTags":"a,b"`), in: "GET /network/v2.0/security-groups?", has: "not-tags=a,b"},
	{field: "securityGroups[].filter.notTagsAny", set: groupFilter(`"notTagsAny":"a,b"`), in: "GET /network/v2.0/security-groups?", has: "not-tags-any=a,b"},
	{field: "securityGroups[].filter.limit", why: ignored},
	{field: "securityGroups[].filter.marker", why: ignored},
	{field: "securityGroups[].filter.sortKey", why: ignored},
	{field: "securityGroups[].filter.sortDir", why: ignored},
	{field: "trunk", set: `{"trunk":true}`, in: "POST /network/v2.0/trunks?", has: `"name":"m-0"`},
	{field: "tags", set: `{"tags":["red"]}`, in: servers, has: `"tags":[ && "red"`},
	{field: "serverMetadata", set: `{"serverMetadata":{"color":"red"}}`, in: servers, has: `"metadata":{ && "color":"red"`},
	{field: "configDrive", set: `{"configDrive":true}`, in: servers, has: `"config_drive":true`},
	{field: "rootVolume.sourceUUID", set: `{"rootVolume":{"diskSize":20,"sourceUUID":"gardenlinux"}}`, in: volumes, has: `"imageRef":"` + image2 + `"`},
	{field: "rootVolume.volumeType", set: `{"rootVolume":{"diskSize":20,"volumeType":"fast"}}`, in: volumes, has: `"volume_type":"fast"`},
	{field: "rootVolume.diskSize", set: `{"rootVolume":{"diskSize":20}}`, in: volumes, has: `"name":"m-root","size":20`},
	{field: "rootVolume.availabilityZone", set: `{"rootVolume":{"diskSize":20,"availabilityZone":"az-2"}}`, in: volumes, has: `"availability_zone":"az-2"`},
	{field: "rootVolume.sourceType", why: ignored},
	{field: "rootVolume.deviceType", why: ignored},
	{field: "additionalBlockDevices[].name", set: disk(`"storage":{"type":"Volume"}`), in: volumes, has: `"name":"m-etcd"`},
	{field: "additionalBlockDevices[].sizeGiB", set: disk(`"storage":{"type":"Volume"}`), in: volumes, has: `"size":11`},
	{field: "additionalBlockDevices[].storage.type", set: disk(`"storage":{"type":"Local"}`), in: servers, has: `"block_device_mapping_v2":[ && {"boot_index":-1,"delete_on_termination":true,"destination_type":"local","source_type":"blank","tag":"etcd","volume_size":11}`},
	{field: "additionalBlockDevices[].storage.volume.type", set: disk(`"storage":{"type":"Volume","volume":{"type":"fast"}}`), in: volumes, has: `"volume_type":"fast"`},
	{field: "additionalBlockDevices[].storage.volume.availabilityZone", set: disk(`"storage":{"type":"Volume","volume":{"availabilityZone":"az-2"}}`), in: volumes, has: `"availability_zone":"az-2"`},
	{field: "serverGroupID", set: `{"serverGroupID":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c99"}`, in: servers, has: `"os:scheduler_hints":{"group":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c99"}`},
	{field: "serverGroupName", set: `{"serverGroupName":"g"}`, in: "POST /compute/v2.1/os-server-groups?", has: `"name":"g","policies":["soft-anti-affinity"]`},
	{field: "primarySubnet", why: ignored},
})

func subnetFilter(f string) string {
	return `{"networks":[{"uuid":"` + net1 + `","subnets":[{"filter":{` + f + `}}]}]}`
}

func groupFilter(f string) string { return `{"securityGroups":[{"filter":{` + f + `}}]}` }

// port is a second port beside that of the network.
func port(f string) string {
	if f != "" {
		f = "," + f
	}
	return `{"ports":[{"networkID":"` + net1 + `"` + f + `}]}`
}

func disk(storage string) string {
	return `{"additionalBlockDevices":[{"name":"etcd","sizeGiB":11,` + storage + `}]}`
}

var gardenerRows = slices.Concat(typeFields, []row{
	{field: "spec.imageID", set: `{"spec":{"imageID":"` + image2 + `"}}`, in: servers, has: `"imageRef":"` + image2 + `"`},
	{field: "spec.imageName", set: `{"spec":{"imageName":"gardenlinux"}}`, in: servers, has: `"imageRef":"` + image2 + `"`},
	{field: "spec.region", why: "chooses the endpoints of the catalog (TestRegion)"},
	{field: "spec.availabilityZone", set: `{"spec":{"availabilityZone":"az-2"}}`, in: servers, has: `"availability_zone":"az-2"`},
	{field: "spec.flavorName", set: `{"spec":{"flavorName":"m1.large"}}`, in: servers, has: `"flavorRef":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c11"`},
	{field: "spec.keyName", set: `{"spec":{"keyName":"other"}}`, in: servers, has: `"key_name":"other"`},
	{field: "spec.securityGroups", set: `{"spec":{"securityGroups":["workers"]}}`, in: ports, has: `"security_groups":["` + group1 + `"]`},
	{field: "spec.tags", set: `{"spec":{"tags":{"color":"red"}}}`, in: servers, has: `"metadata":{ && "color":"red"`},
	{field: "spec.networkID", set: `{"spec":{"networkID":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77","subnetID":null}}`, in: ports, has: `"network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"`},
	{field: "spec.subnetID", set: `{"spec":{"subnetID":"11111111-0000-4000-8000-000000000000"}}`, in: ports, has: `"fixed_ips":[{"subnet_id":"11111111-0000-4000-8000-000000000000"}]`},
	{field: "spec.subnetIDs", set: `{"spec":{"subnetID":null,"subnetIDs":["11111111-0000-4000-8000-000000000000","` + sub1 + `"]}}`, in: ports, has: `"fixed_ips":[{"subnet_id":"11111111-0000-4000-8000-000000000000"},{"subnet_id":"` + sub1 + `"}]`},
	{field: "spec.podNetworkCidr", set: `{"spec":{"podNetworkCidr":"100.64.0.0/12"}}`, in: ports, has: `"allowed_address_pairs":[ && {"ip_address":"100.64.0.0/12"}`},
	{field: "spec.podNetworkCIDRs", set: `{"spec":{"podNetworkCIDRs":["100.64.0.0/12"]}}`, in: ports, has: `"allowed_address_pairs":[{"ip_address":"100.64.0.0/12"}]`},
	{field: "spec.rootDiskSize", set: `{"spec":{"rootDiskSize":50}}`, in: servers, has: `"block_device_mapping_v2":[ && "destination_type":"volume","source_type":"image","uuid":"6d09ede3-9a50-4bc5-a171-bf31d153ddca","volume_size":50`},
	{field: "spec.rootDiskType", set: `{"spec":{"rootDiskSize":50,"rootDiskType":"fast"}}`, in: volumes, has: `"volume_type":"fast"`},
	{field: "spec.useConfigDrive", set: `{"spec":{"useConfigDrive":true}}`, in: servers, has: `"config_drive":true`},
	{field: "spec.serverGroupID", set: `{"spec":{"serverGroupID":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c99"}}`, in: servers, has: `"os:scheduler_hints":{"group":"0a4c5b1e-6a0f-4f7e-9a76-2b7a2d0b4c99"}`},
	{field: "spec.networks[].id", set: severalNetworks(`{"id":"` + net1 + `"},{"id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"}`), in: ports, has: `"name":"m-1","network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"`},
	{field: "spec.networks[].name", set: severalNetworks(`{"name":"storage"}`), in: ports, has: `"network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"`},
	{field: "spec.networks[].podNetwork", set: severalNetworks(`{"name":"storage"},{"id":"` + net1 + `","podNetwork":true}`), in: ports, has: `"allowed_address_pairs":[{"ip_address":"100.96.0.0/11"}] && "name":"m-1"`},
})

func severalNetworks(all string) string {
	return `{"spec":{"networkID":"","subnetID":null,"networks":[` + all + `]}}`
}

// smallest are the minimal valid specs.
var smallest = map[string]string{
	provider.OpenShift: `{"cloudName":"openstack","flavor":"m1.test","image":"rhcos","networks":[{"uuid":"` + net1 + `"}]}`,
	provider.Gardener:  strings.ReplaceAll(gardenerSpec, "CLUSTER", "c1"),
}

// TestEveryFieldHasARow visits all fields of the types.
func TestEveryFieldHasARow(t *testing.T) {
	for _, of := range []struct {
		spec reflect.Type
		rows []row
	}{{reflect.TypeFor[spec.OpenShift](), openshiftRows}, {reflect.TypeFor[spec.Gardener](), gardenerRows}} {
		covered := func(path string) bool {
			return slices.ContainsFunc(of.rows, func(r row) bool {
				return r.field == path || r.why != "" && strings.HasPrefix(path, r.field+".")
			})
		}
		known := map[string]bool{}
		walk(of.spec, "", func(path string) {
			known[path] = true
			if !covered(path) {
				t.Errorf("%s: field %s has neither a row nor a reason", of.spec, path)
			}
		})
		for _, r := range of.rows {
			below := slices.ContainsFunc(keys(known), func(k string) bool { return k == r.field || strings.HasPrefix(k, r.field+".") })
			if !below || r.why == "" && (r.in == "" || r.has == "") {
				t.Errorf("%s: row %s is of no field, or says nothing", of.spec, r.field)
			}
		}
	}
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// walk visits the leaf fields of a type, by their paths in JSON.
func walk(t reflect.Type, path string, visit func(string)) {
	switch {
	case t.Kind() == reflect.Pointer:
		walk(t.Elem(), path, visit)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		walk(t.Elem(), path+"[]", visit)
	case t.Kind() != reflect.Struct || path == "metadata":
		visit(path)
	default:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			below := path
			if name != "" {
				below = strings.TrimPrefix(path+"."+name, ".")
			}
			walk(f.Type, below, visit)
		}
	}
}

// TestFieldsReachRequests: each value is in a request, and in none without the field.
func TestFieldsReachRequests(t *testing.T) {
	for api, rows := range map[string][]row{provider.OpenShift: openshiftRows, provider.Gardener: gardenerRows} {
		without := sentFor(t, api, `{}`)
		for _, r := range rows {
			if r.why != "" {
				continue
			}
			t.Run(api+" "+r.field, func(t *testing.T) {
				has := func(all *double.Recorder) bool {
					return slices.ContainsFunc(all.With(r.in), func(s string) bool { return containsAll(s, strings.Split(r.has, " && ")) })
				}
				with := sentFor(t, api, r.set)
				if !has(with) {
					t.Errorf("no request that begins %q has %s:\n%s", r.in, r.has, strings.Join(with.With(""), "\n"))
				}
				if has(without) {
					t.Errorf("a request has %s without the field too", r.has)
				}
			})
		}
	}
}

func containsAll(s string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
}

// sentFor creates a server of the smallest spec with the patch, and returns the requests.
func sentFor(t *testing.T, api, set string) *double.Recorder {
	t.Helper()
	b := newBench(t, func(o *nova.Options) { o.AcceptAny = true })
	class := b.class(api, "c1")
	class.Spec = merged(t, smallest[api], set)
	b.running(b.session(class), ref("m"))
	return &b.sent
}

func ref(name string) provider.Ref {
	return provider.Ref{UID: "0b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e", Namespace: "openshift-machine-api", Name: name}
}

// running creates until the instance exists.
func (b *bench) running(s provider.Session, r provider.Ref) provider.Instance {
	b.t.Helper()
	for range 20 {
		i, err := s.Create(b.t.Context(), r, provider.Want{UserData: []byte("#cloud-config\n")})
		switch {
		case err == nil && i.State == provider.Running:
			return i
		case err != nil && provider.KindOf(err) != provider.Conflict:
			b.t.Fatal(err)
		}
		b.clock.Advance(time.Second)
	}
	b.t.Fatal("the server does not run")
	return provider.Instance{}
}

// merged is a document with a JSON merge patch.
func merged(t *testing.T, base, patch string) []byte {
	t.Helper()
	return fieldsdoc.Patched(t, []byte(base), patch)
}
