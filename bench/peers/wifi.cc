// The peer of `benches/wifi.rs` in ns-3: saturated pairs of 802.11g stations that hear each other,
// each of which carries TCP one way at 54 Mb/s.
//
// wifi PAIRS SECONDS SEED prints three numbers: the frames that all radios began to send,
// acknowledgements included; the payload bytes that arrived; and the seconds of processor time
// that the run took, without the time to set it up.

#include <ctime>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

static uint64_t frames = 0;

static void
CountFrame(Ptr<const Packet>, double)
{
    ++frames;
}

static double
ProcessorTime()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// The TCP of Windfall and of Linux: CUBIC, timestamps, an acknowledgement for two segments, and
// buffers that never limit it.
static void
SetTcpDefaults()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
}

// The stations of a pair are 8 m apart, the pairs stand beside each other along 1 m.
static void
PlaceStations(const NodeContainer& nodes, uint32_t pairs)
{
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t pair = 0; pair < pairs; ++pair)
    {
        places->Add(Vector(double(pair) / pairs, 0.0, 0.0));
        places->Add(Vector(double(pair) / pairs, 8.0, 0.0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
}

static NetDeviceContainer
InstallRadios(const NodeContainer& nodes)
{
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211g);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("ErpOfdmRate54Mbps"),
                                 "ControlMode", StringValue("ErpOfdmRate24Mbps"));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    const std::string radio = "/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phy/";
    Config::Set(radio + "Slot", TimeValue(MicroSeconds(9)));
    Config::ConnectWithoutContext(radio + "PhyTxBegin", MakeCallback(&CountFrame));
    return devices;
}

static ApplicationContainer
InstallApplications(const NodeContainer& nodes, const Ipv4InterfaceContainer& addresses)
{
    const uint16_t port = 5001;
    ApplicationContainer sinks;
    for (uint32_t sender = 0; sender < nodes.GetN(); sender += 2)
    {
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(addresses.GetAddress(sender + 1), port));
        bulk.Install(nodes.Get(sender));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(nodes.Get(sender + 1)));
    }
    return sinks;
}

int
main(int count, char* arguments[])
{
    if (count != 4)
    {
        std::cerr << "usage: wifi PAIRS SECONDS SEED\n";
        return 2;
    }
    const uint32_t pairs = std::stoul(arguments[1]);
    const double seconds = std::stod(arguments[2]);
    RngSeedManager::SetRun(std::stoul(arguments[3]));
    SetTcpDefaults();

    NodeContainer nodes;
    nodes.Create(2 * pairs);
    PlaceStations(nodes, pairs);
    const NetDeviceContainer devices = InstallRadios(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper network;
    network.SetBase("10.0.0.0", "255.255.0.0");
    const ApplicationContainer sinks = InstallApplications(nodes, network.Assign(devices));

    Simulator::Stop(Seconds(seconds));
    const double start = ProcessorTime();
    Simulator::Run();
    const double taken = ProcessorTime() - start;

    uint64_t bytes = 0;
    for (uint32_t index = 0; index < sinks.GetN(); ++index)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(index))->GetTotalRx();
    }
    std::cout << frames << ' ' << bytes << ' ' << taken << '\n';
    Simulator::Destroy();
    return 0;
}
