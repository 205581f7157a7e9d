module github.com/millwright-dev/millwright/dev/clouds/yandex

go 1.26.0

require (
	github.com/millwright-dev/millwright/dev/clouds v0.0.0
	github.com/yandex-cloud/go-genproto v0.137.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa
	google.golang.org/grpc v1.82.1
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af
)

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/net v0.53.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.36.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260414002931-afd174a4e478 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/millwright-dev/millwright/dev/clouds => ..
