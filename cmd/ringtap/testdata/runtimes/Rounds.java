import java.io.FileDescriptor;
import java.io.FileInputStream;

/** Does a round for each byte that it reads, in a thread of its own; see rounds.go. */
public class Rounds {
	static void readIt(FileInputStream zero) throws Exception {
		byte[] bytes = new byte[4096];
		for (int i = 0; i < 100; i++)
			if (zero.read(bytes) != bytes.length)
				throw new Exception("a short read");
	}

	static void napHere() throws Exception {
		for (int i = 0; i < 5; i++)
			Thread.sleep(5);
	}

	public static void main(String[] args) throws Exception {
		FileInputStream zero = new FileInputStream("/dev/zero");
		FileInputStream asked = new FileInputStream(FileDescriptor.in); // one byte a call
		while (asked.read() > 0) {
			Thread round = new Thread(() -> {
				try {
					readIt(zero);
					long begin = System.nanoTime();
					napHere();
					System.out.println(System.nanoTime() - begin);
				} catch (Exception e) {
					System.out.println(e);
				}
			});
			round.start();
			round.join();
		}
	}
}
